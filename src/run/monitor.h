/* The event loop of sonde run: one epoll over signals, kernel events, perf descriptors and ticks, until the command
 * has ended. All data goes to the spool. */
#ifndef SONDE_RUN_MONITOR_H
#define SONDE_RUN_MONITOR_H

#include "run/proc_events.h"
#include "run/signals.h"
#include "run/spool_dir.h"
#include "run/spool_io.h"
#include "run/ticks.h"

#include <sys/resource.h>

struct monitor {
    struct spool_dir spool;
    struct spool_io spool_io;
    struct spool_writer writer; /* SPOOL_WRITER_NONE: the command is not monitored */
    struct signals signals;
    struct proc_events events;
    struct perf_counts perf;
    struct ticks ticks;
    int epoll_fd;
    bool execs_wake, forks_wake; /* an exec event wakes us; a fork or exit event */
    pid_t command;
    bool command_ended, has_children;
    bool wait_all;          /* until the last descendant has ended */
    int stopped_by;         /* signal by which the command has just been stopped */
    int status;             /* of the command, as from wait4 */
    struct rusage children_before; /* RUSAGE_CHILDREN before the command started */
};

/* Adds the sources, which must be open, to an epoll. */
enum err monitor_open(struct monitor *monitor);

/* Runs until the command, or with wait_all the last descendant, has ended. */
void monitor_until_end(struct monitor *monitor);

/* Reads remaining kernel events, records survivors and the end of the run. Returns the number of survivors. */
uint32_t monitor_finish(struct monitor *monitor);

/* Reaps and records all children that have ended. */
void monitor_reap(struct monitor *monitor);

/* One iteration: sleeps, at most this long (-1: forever), until something happens, and handles it. */
void monitor_once(struct monitor *monitor, int timeout_ms);

/* Adds another descriptor that wakes the loop. */
enum err monitor_add_fd(struct monitor *monitor, int fd);

/* Records the end of the run. with_total: this process is the parent of the command and knows its total usage. */
void monitor_record_end(struct monitor *monitor, bool with_total);

/* Closes all sources. */
void monitor_close(struct monitor *monitor);

#endif
