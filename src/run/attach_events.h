/* What the kernel tells of the processes of an attachment, where it counts their calls: who was made, what was executed, who
 * ended and with what (the proc connector, taskstats), so that one that lives for a millisecond is in the list too. From the
 * sockets into attach_processes.h. */
#ifndef SONDE_RUN_ATTACH_EVENTS_H
#define SONDE_RUN_ATTACH_EVENTS_H

#include "proc/taskstats_exits.h"
#include "proc/proc_connector.h"
#include "run/attach_processes.h"

#define ATTACH_EVENTS_THREADS 8192 /* a power of two */
#define ATTACH_EVENTS_PENDING 64

/* When a thread was made; the place is the tid's, so that a later one with the same last bits takes it. */
struct attach_thread_start {
    uint32_t tid;
    uint64_t start_ns;
};

/* An exit record of somebody whose beginning was not read yet. */
struct attach_pending_exit {
    struct taskstats_record record;
    char name[32];
};

struct attach_events {
    struct proc_connector forks; /* fd < 0: nothing is told, and the ticks of attach_lives are all there is */
    struct taskstats_exits exits; /* fd < 0: what they used is known from the looks only */
    struct attach_processes *processes; /* borrowed; NULL: nobody listens */
    struct attach_thread_start thread_starts[ATTACH_EVENTS_THREADS]; /* of ours that are younger than the attachment */
    struct attach_pending_exit pending[ATTACH_EVENTS_PENDING];
    size_t pending_count;
    unsigned count;   /* of events in this second */
    uint64_t second;  /* CLOCK_MONOTONIC */
};

/* Before the first look at the processes, so that nobody is missed in between. */
void attach_events_open(struct attach_events *events, struct attach_processes *processes);
void attach_events_close(struct attach_events *events);

/* Reads all that is there; to be called before each look at the processes. */
void attach_events_read(struct attach_events *events);

/* To be polled; -1: not now, since there is so much that it is read when there is time. */
int attach_events_fd(const struct attach_events *events);

/* Until when it must be read: milliseconds, -1: never. */
int attach_events_timeout_ms(const struct attach_events *events);

#endif
