/* Start and end of jobs on a Colmet node, which Colmet does not report: a job starts when a message mentions it, and
 * has ended when two consecutive messages do not. */
#ifndef SONDE_COMPAT_COLMET_JOBS_H
#define SONDE_COMPAT_COLMET_JOBS_H

#include "compat/colmet/hosts.h"

struct colmet_jobs_entry {
    struct colmet_job job;
    unsigned missed; /* consecutive messages without it */
};

struct colmet_jobs {
    struct colmet_jobs_entry **entries; /* allocated one by one, so that pointers stay valid */
    const struct job **list;
    struct batch_event *events;
    size_t count, capacity;
};

void colmet_jobs_clear(struct colmet_jobs *jobs);

/* Replaces the jobs of batch by those of the node, with their events. Valid until the next call. NOMEM. */
enum err colmet_jobs_note(struct colmet_jobs *jobs, struct batch *batch);

#endif
