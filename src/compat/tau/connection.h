/* What one client of tau says: the bytes of its socket become values of the table of programs, its questions answers. Knows no
 * sockets; for server.c. Everything under the table's lock, but for open and what is said to be free of it. */
#ifndef SONDE_COMPAT_TAU_CONNECTION_H
#define SONDE_COMPAT_TAU_CONNECTION_H

#include "appmetrics/program_job.h"
#include "compat/tau/reply.h"

#include <stdbool.h>

struct tau_gateway {
    struct program_table *table;
    struct program_jobs *jobs;
};

/* Which metrics a program speaks of, in the order in which it made them. */
struct tau_order {
    struct program_hold **items;
    size_t count, room;
    uint32_t *map; /* from metrics to places in items, plus one: made when the order was not as foreseen */
    size_t map_room;
    size_t at;     /* the one that was met last */
    bool is_down;  /* the one before it is likely next */
};

struct tau_connection {
    pid_t pid;
    uint32_t uid;
    struct program_scope *scope;
    enum program_word word;      /* by which it is there */
    struct program_asked asked;  /* whether it is in another one now */
    struct tau_order order;
    struct tau_reply reply;
    struct program_hold **holds; /* of its gauges: its own */
    size_t hold_count, hold_room;
    unsigned jobs_named;
    const char *why;             /* it is to be closed: what it did wrong */
    bool was_refused;            /* it named another user's job, and that was not said yet */
};

/* NOMEM. */
enum err tau_connection_open(struct tau_connection *connection, struct tau_gateway *gateway, pid_t pid, uint32_t uid);
void tau_connection_close(struct tau_connection *connection, struct tau_gateway *gateway);

/* Its job is over: what it says from now on is its user's. Without memory it stays where it is. */
void tau_connection_leave_job(struct tau_connection *connection, struct tau_gateway *gateway);

/* Takes the whole messages of in, which is aligned as they are, until one asks something (reply.type); *used: so many bytes.
 * CORRUPT: connection->why. */
enum err tau_connection_take(struct tau_connection *connection, struct tau_gateway *gateway, struct bytes in, size_t *used);

#endif
