/* The loop of sonde run: one epoll over signals, kernel events, perf descriptors and ticks, until the command has ended.
 * Everything it hears goes to the spool. */
#ifndef SONDE_RUN_MONITOR_H
#define SONDE_RUN_MONITOR_H

#include "run/proc_events.h"
#include "run/signals.h"
#include "run/spool_dir.h"
#include "run/ticks.h"

#include <sys/resource.h>

struct watch {
    struct spool_dir spool;
    struct writer writer; /* WRITER_NONE: the command runs unwatched */
    struct signals signals;
    struct kernel kernel;
    struct perf_counts perf;
    struct ticks ticks;
    int epoll_fd;
    bool execs_wake, forks_wake; /* the kernel's word of an exec wakes us now; of a fork or exit */
    pid_t command;
    bool command_ended, has_children;
    bool wait_all;          /* until the last descendant has ended */
    int stopped_by;         /* signal by which the command has stopped just now */
    int status;             /* of the command, as from wait4 */
    struct rusage children_before; /* of this process, before the command started */
};

/* Joins the sources, which are open, in one epoll. */
enum err watch_open(struct watch *watch);

/* Watches until the command, or with wait_all the last descendant, has ended. */
void watch_until_end(struct watch *watch);

/* Reads what the kernel still holds and records the survivors and the end of the run. Returns how many are alive. */
uint32_t watch_finish(struct watch *watch);

/* Takes every child that has ended, and records how. */
void watch_reap(struct watch *watch);

/* One turn of the loop: sleeps, at most so long (-1: for ever), until something comes, and deals with it. */
void watch_once(struct watch *watch, int timeout_ms);

/* Another descriptor that shall wake the loop. */
enum err watch_add(struct watch *watch, int fd);

/* The end of the run. with_total: this process is the parent of the command and knows what it used. */
void watch_record_end(struct watch *watch, bool with_total);

/* Closes all sources. */
void watch_close(struct watch *watch);

#endif
