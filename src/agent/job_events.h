/* The jobs that are on the node, as batches carry them: who reads a sample elsewhere knows whose it is, and when a job began
 * and ended. From the events of jobs to each batch that goes out. */
#ifndef SONDE_AGENT_JOB_EVENTS_H
#define SONDE_AGENT_JOB_EVENTS_H

#include "model/batch.h"

struct present {
    const struct job **jobs;
    size_t count, room;
    struct batch_event event; /* not yet in any batch; job NULL: none */
};

/* What happens to a job goes out with the next batch, which must be made before present_after. */
enum err present_before(struct present *present, const struct job *job, enum job_event event);

/* One that ended is there no more. True: the event went out. */
bool present_after(struct present *present, const struct job *job, enum job_event event);

/* Puts jobs and the event into batch, which borrows them. */
void present_fill(struct present *present, struct batch *batch);
void present_clear(struct present *present);

#endif
