/* Process events of an attachment, where eBPF counts its system calls: forks, execs, exits and resource usage, from
 * the proc connector and taskstats, so that processes that live for a millisecond are recorded too. Passes them to
 * attach_processes.h. */
#ifndef SONDE_RUN_ATTACH_EVENTS_H
#define SONDE_RUN_ATTACH_EVENTS_H

#include "proc/taskstats_exits.h"
#include "proc/proc_connector.h"
#include "run/attach_processes.h"

#define ATTACH_EVENTS_THREADS 8192 /* a power of two */
#define ATTACH_EVENTS_PENDING 64

/* Start time of a thread. Indexed by tid modulo the size: a later thread may overwrite it. */
struct attach_thread_start {
    uint32_t tid;
    uint64_t start_ns;
};

/* An exit record whose fork event has not been read yet. */
struct attach_pending_exit {
    struct taskstats_record record;
    char name[32];
};

struct attach_events {
    struct proc_connector forks; /* fd < 0: unavailable; then only attach_processes_tick finds processes */
    struct taskstats_exits exits; /* fd < 0: unavailable; then usage is only sampled */
    struct attach_processes *processes; /* borrowed; NULL: nothing is recorded */
    struct attach_thread_start thread_starts[ATTACH_EVENTS_THREADS]; /* of monitored threads younger than the attachment */
    struct attach_pending_exit pending[ATTACH_EVENTS_PENDING];
    size_t pending_count;
    unsigned count;   /* events in this second */
    uint64_t second;  /* CLOCK_MONOTONIC */
};

/* Call before processes are listed for the first time, so that none is missed in between. */
void attach_events_open(struct attach_events *events, struct attach_processes *processes);
void attach_events_close(struct attach_events *events);

/* Reads all pending events; call before processes are listed. */
void attach_events_read(struct attach_events *events);

/* To be polled; -1: not now, because the event rate is too high: they are read periodically. */
int attach_events_fd(const struct attach_events *events);

/* Time until they must be read, in milliseconds; -1: never. */
int attach_events_timeout_ms(const struct attach_events *events);

#endif
