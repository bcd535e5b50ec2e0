/* Queries taskstats of live tasks over generic netlink, many per system call. About 2 µs per task. Needs root
 * (CAP_NET_ADMIN). */
#ifndef SONDE_PROC_TASKSTATS_QUERIES_H
#define SONDE_PROC_TASKSTATS_QUERIES_H

#include "proc/taskstats_exits.h"

struct taskstats_queries {
    int fd;
    uint16_t family;
    uint32_t sequence;
    uint64_t lost; /* answers lost to overflow */
};

/* What a query returns. */
enum taskstats_subject {
    TASKSTATS_SUBJECT_THREAD,  /* one thread: all fields */
    TASKSTATS_SUBJECT_PROCESS, /* all threads of a process, including exited ones: times, delays and context switches
                                * only */
};

/* ABSENT: no taskstats in this kernel. DENIED: not root. */
enum err taskstats_queries_open(struct taskstats_queries *queries);
void taskstats_queries_close(struct taskstats_queries *queries); /* does nothing if closed (fd < 0) */

/* Queries each of ids. each receives the index in ids and the kernel's struct taskstats, borrowed until it returns; it
 * is not called for tasks that have exited. */
enum err taskstats_queries_run(struct taskstats_queries *queries, enum taskstats_subject subject, const uint32_t *ids,
                               size_t count,
                               void (*each)(void *context, size_t place, struct bytes stats), void *context);

/* Parses the answers in one datagram to the queries with sequence numbers from first on. Accepts any bytes. */
void taskstats_queries_parse(struct bytes datagram, uint16_t family, uint32_t first, size_t count,
                             void (*each)(void *context, size_t place, struct bytes stats), void *context);

#endif
