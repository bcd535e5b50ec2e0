/* Questions to the kernel about living tasks (taskstats over generic netlink), many with one call. A question costs
 * about 2 µs. Needs root (CAP_NET_ADMIN). */
#ifndef SONDE_PROC_TASKSTATS_QUERIES_H
#define SONDE_PROC_TASKSTATS_QUERIES_H

#include "proc/taskstats_exits.h"

struct taskstats_queries {
    int fd;
    uint16_t family;
    uint32_t sequence;
    uint64_t lost; /* answers that overflowed the socket */
};

/* What one question is about. */
enum taskstats_subject {
    TASKSTATS_SUBJECT_THREAD,  /* all fields */
    TASKSTATS_SUBJECT_PROCESS, /* of all its threads, also those that ended: times, delays and context switches only */
};

/* ABSENT: no taskstats in this kernel. DENIED: not root. */
enum err taskstats_queries_open(struct taskstats_queries *queries);
void taskstats_queries_close(struct taskstats_queries *queries); /* harmless when it is closed (fd < 0) */

/* Asks for each of ids. each gets the place in ids and the kernel's struct taskstats, borrowed until it returns; it is
 * not called for those that are gone. */
enum err taskstats_queries_run(struct taskstats_queries *queries, enum taskstats_subject subject, const uint32_t *ids,
                               size_t count,
                               void (*each)(void *context, size_t place, struct bytes stats), void *context);

/* The answers in one datagram to the questions whose numbers begin at first. Takes any bytes. */
void taskstats_queries_parse(struct bytes datagram, uint16_t family, uint32_t first, size_t count,
                             void (*each)(void *context, size_t place, struct bytes stats), void *context);

#endif
