/* The jobs of a node of Colmet's: it tells neither beginning nor end of one. A job is there in one message and was not in the one
 * before; it has ended when two messages do not have it. */
#ifndef SONDE_COMPAT_COLMET_JOBS_H
#define SONDE_COMPAT_COLMET_JOBS_H

#include "compat/colmet/hosts.h"

struct colmet_jobs_entry {
    struct colmet_job job;
    unsigned missed; /* messages without it, in a row */
};

struct colmet_jobs {
    struct colmet_jobs_entry **entries; /* each stays where it is */
    const struct job **list;
    struct batch_event *events;
    size_t count, capacity;
};

void colmet_jobs_clear(struct colmet_jobs *jobs);

/* Puts into batch the jobs of the node and what happened to them, in place of those that its message tells of. They are valid
 * until the next call. NOMEM. */
enum err colmet_jobs_note(struct colmet_jobs *jobs, struct batch *batch);

#endif
