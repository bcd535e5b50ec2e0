/* A list of pointers into the table of jobs, which keeps each where it is until its end was told. */
#include "agent/job_events.h"

#include "base/vec.h"

#include <stdlib.h>

static size_t place_of(const struct present *present, const struct job *job)
{
    size_t at = 0;
    while (at < present->count && present->jobs[at] != job)
        at++;
    return at;
}

static enum err add(struct present *present, const struct job *job)
{
    if (place_of(present, job) < present->count)
        return OK;
    if (array_reserve(present->jobs, present->room, present->count + 1, VEC_MAX))
        return NOMEM;
    present->jobs[present->count++] = job;
    return OK;
}

enum err present_before(struct present *present, const struct job *job, enum job_event event)
{
    enum err err = add(present, job);
    if (!err)
        present->event = (struct batch_event){ event, job };
    return err;
}

bool present_after(struct present *present, const struct job *job, enum job_event event)
{
    bool is_out = !present->event.job;
    present->event.job = NULL;
    size_t at = place_of(present, job);
    if (event == JOB_END && at < present->count)
        present->jobs[at] = present->jobs[--present->count];
    return is_out;
}

void present_fill(struct present *present, struct batch *batch)
{
    batch->jobs = present->jobs;
    batch->job_count = present->count;
    batch->events = present->event.job ? &present->event : NULL;
    batch->event_count = present->event.job ? 1 : 0;
}

void present_clear(struct present *present)
{
    free(present->jobs);
    *present = (struct present){ 0 };
}
