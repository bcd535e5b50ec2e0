/* Copies of jobs, for a thread that cannot look into the table of jobs: a list, and news that change it. */
#ifndef SONDE_AGENT_JOB_COPY_H
#define SONDE_AGENT_JOB_COPY_H

#include "base/err.h"
#include "model/job.h"

struct job_copy {
    struct job job;  /* stays at its address; a job is known by its slot */
    char *texts;     /* all of its texts */
    struct job_copy *next;
    enum job_event event; /* what happened to it, while it is news */
};

/* NULL: memory ran out. */
struct job_copy *job_copy_new(const struct job *job, enum job_event event);
void job_copy_free(struct job_copy **copy); /* accepts NULL there */
void job_copy_free_all(struct job_copy **list);

/* The place in list that points to the job of this slot, or the end of the list. */
struct job_copy **job_copy_find(struct job_copy **list, uint32_t slot);

/* What news says of the job goes into copy; its old texts come into news. */
void job_copy_swap(struct job_copy *copy, struct job_copy *news);

#endif
