/* Copies of jobs, for a thread that cannot access the table of jobs: a list, and updates that change it. */
#ifndef SONDE_AGENT_JOB_COPY_H
#define SONDE_AGENT_JOB_COPY_H

#include "base/err.h"
#include "model/job.h"

struct job_copy {
    struct job job; /* keeps its address; identified by its slot */
    char *strings;  /* memory of all its strings */
    struct job_copy *next;
    enum job_event event; /* what happened to it, if this is an update */
};

/* NULL if out of memory. */
struct job_copy *job_copy_new(const struct job *job, enum job_event event);
void job_copy_free(struct job_copy **copy); /* accepts NULL */
void job_copy_free_all(struct job_copy **list);

/* The link to the job with this slot, or the end of the list. */
struct job_copy **job_copy_find(struct job_copy **list, uint32_t slot);

/* Moves the new state from update to copy; update gets the old strings. */
void job_copy_swap(struct job_copy *copy, struct job_copy *update);

#endif
