/* Adds the running jobs and job events to each batch, so that its readers know to whom a sample belongs, and when a job
 * started and ended. */
#ifndef SONDE_AGENT_JOB_EVENTS_H
#define SONDE_AGENT_JOB_EVENTS_H

#include "model/batch.h"

struct job_events {
    const struct job **jobs;
    uint64_t *facts; /* for each job a hash of what its last event contained */
    size_t count, capacity, facts_capacity;
    struct batch_event event; /* not in a batch yet; job NULL: none */
};

/* The event is sent with the next batch, which must be created before job_events_end. A change of what only samplers
 * use, such as its steps, is not sent. */
enum err job_events_begin(struct job_events *events, const struct job *job, enum job_event event);

/* Removes a job that ended. True: the event was sent. */
bool job_events_end(struct job_events *events, const struct job *job, enum job_event event);

/* Sets jobs and event of batch, which borrows them. */
void job_events_fill(struct job_events *events, struct batch *batch);
void job_events_clear(struct job_events *events);

#endif
