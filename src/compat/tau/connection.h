/* One client of tau: the bytes of its socket become values in the registry, and its queries replies. Knows no sockets;
 * for server.c. Everything under the registry's lock. */
#ifndef SONDE_COMPAT_TAU_CONNECTION_H
#define SONDE_COMPAT_TAU_CONNECTION_H

#include "appmetrics/program_jobs.h"
#include "compat/tau/reply.h"

/* Where the values of all clients go. Borrowed. */
struct tau_endpoint {
    struct registry *registry;
    struct program_jobs *jobs;
    void (*refresh)(void *context); /* called before a query is answered, without the lock; NULL: nothing to do */
    void *context;
};

/* The metrics of a program in the order in which it described them, which is that of its messages or the reverse. */
struct tau_order {
    VEC(struct contribution *) items;
    struct map by_metric; /* indices of items, when there are many */
    size_t at;            /* the item of the last message */
    bool is_down;         /* the one before it is likely to be next, not the one after it */
};

struct tau_connection {
    pid_t pid;
    uint32_t uid;
    struct scope *scope;
    enum program_job_source source;   /* how the scope is known */
    struct program_job_check check;   /* when it was looked up last */
    struct tau_order order;
    VEC(struct contribution *) gauges; /* its own; a counter has that of its cell, since messages are increments */
    struct tau_reply reply;
    unsigned jobs_named;
    const char *error;                /* why the connection has to be closed; NULL: it has not */
    bool was_refused;                 /* it has named a job of another user, which was not logged yet */
};

/* NOMEM. */
enum err tau_connection_open(struct tau_connection *connection, struct tau_endpoint *endpoint, pid_t pid, uint32_t uid);
void tau_connection_close(struct tau_connection *connection, struct tau_endpoint *endpoint);

/* Its job has ended: what it reports from now on is its user's. Without memory it stays where it is. */
void tau_connection_leave_job(struct tau_connection *connection, struct tau_endpoint *endpoint);

/* Handles the complete messages of in, which is aligned for them, up to the first query (reply.type); *used: how many
 * bytes. CORRUPT: connection->error. */
enum err tau_connection_receive(struct tau_connection *connection, struct tau_endpoint *endpoint, struct bytes in, size_t *used);

#endif
