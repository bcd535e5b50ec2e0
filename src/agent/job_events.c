/* A list of pointers to the table of jobs, in which a job keeps its address until its end was reported. */
#include "agent/job_events.h"

#include "base/hash.h"
#include "base/vec.h"

#include <stdlib.h>

static size_t index_of(const struct job_events *events, const struct job *job)
{
    size_t at = 0;
    while (at < events->count && events->jobs[at] != job)
        at++;
    return at;
}

static enum err add(struct job_events *events, const struct job *job)
{
    if (index_of(events, job) < events->count)
        return OK;
    if (array_reserve(events->jobs, events->capacity, events->count + 1, VEC_MAX)
        || array_reserve(events->facts, events->facts_capacity, events->count + 1, VEC_MAX))
        return NOMEM;
    events->facts[events->count] = 0;
    events->jobs[events->count++] = job;
    return OK;
}

/* Of what sinks write about a job. */
static uint64_t facts_of(const struct job *job)
{
    const uint64_t numbers[] = { job->uid, job->start_ns, job->end_ns, job->cores_milli, job->memory_bytes };
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = (hash ^ numbers[i]) * HASH_PRIME;
    return hash_add_text(hash_add_text(hash_add_text(hash, job->other_id), job->source), job->user);
}

enum err job_events_begin(struct job_events *events, const struct job *job, enum job_event event)
{
    enum err err = add(events, job);
    if (err)
        return err;
    uint64_t facts = facts_of(job), *last = &events->facts[index_of(events, job)];
    bool is_repeated = event == JOB_CHANGE && facts == *last;
    *last = facts;
    events->event = (struct batch_event){ event, is_repeated ? NULL : job };
    return OK;
}

bool job_events_end(struct job_events *events, const struct job *job, enum job_event event)
{
    bool is_out = !events->event.job;
    events->event.job = NULL;
    size_t at = index_of(events, job);
    if (event == JOB_END && at < events->count) {
        events->jobs[at] = events->jobs[--events->count];
        events->facts[at] = events->facts[events->count];
    }
    return is_out;
}

void job_events_fill(struct job_events *events, struct batch *batch)
{
    batch->jobs = events->jobs;
    batch->job_count = events->count;
    batch->events = events->event.job ? &events->event : NULL;
    batch->event_count = events->event.job ? 1 : 0;
}

void job_events_clear(struct job_events *events)
{
    free(events->jobs);
    free(events->facts);
    *events = (struct job_events){ 0 };
}
