/* ProducerName: LDMS's default is the host name. Sites that start a sampler per job name it after the user and the node, so
 * that a template such as "%{user}-%{host}" stands for several producers: one per distinct name among the jobs of a node. */
#ifndef SONDE_COMPAT_LDMS_PRODUCER_H
#define SONDE_COMPAT_LDMS_PRODUCER_H

#include "base/buf.h"
#include "model/job.h"

#include <stdbool.h>

#define LDMS_PRODUCER "%{host}" /* default */

struct ldms_producer {
    struct buf name;  /* "ada-n1" */
    struct buf jobs;  /* ids of its jobs, "4711 4712"; empty: none */
    const char *user; /* of all of them, borrowed; NULL: none, unknown, or several */
};

/* Starts zeroed. Memory is reused. */
struct ldms_producers {
    struct ldms_producer *items;
    size_t count, capacity;
    struct buf scratch;
};

/* USAGE: an unknown placeholder, or a character that does not belong into a name; error says which. */
enum err ldms_producer_check(const char *template, struct buf *error);

/* The producers of a host with these jobs, at least one. Without jobs, and for jobs without a user, a template that needs
 * them gives the name of the host. Borrows the jobs' users until the next call. */
enum err ldms_producers_make(struct ldms_producers *producers, const char *template, const char *host,
                             const struct job *const *jobs, size_t count);

/* The producer of a job. NULL: not among them. */
const struct ldms_producer *ldms_producers_find(struct ldms_producers *producers, const char *template, const char *host,
                                                const struct job *job);

void ldms_producers_clear(struct ldms_producers *producers);

#endif
