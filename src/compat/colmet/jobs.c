/* A short list per node. */
#include "compat/colmet/jobs.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define MISSED_MAX 2

void colmet_jobs_clear(struct colmet_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        free(jobs->entries[i]);
    free(jobs->entries);
    free(jobs->list);
    free(jobs->events);
    *jobs = (struct colmet_jobs){ 0 };
}

static bool grow(struct colmet_jobs *jobs, size_t need)
{
    if (need <= jobs->capacity)
        return true;
    if (array_resize(jobs->entries, need) || array_resize(jobs->list, need) || array_resize(jobs->events, need))
        return false;
    jobs->capacity = need;
    return true;
}

static struct colmet_jobs_entry *find(const struct colmet_jobs *jobs, const char *id)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (strcmp(jobs->entries[i]->job.id, id) == 0)
            return jobs->entries[i];
    return NULL;
}

/* Frees jobs whose end was reported. */
static void free_ended(struct colmet_jobs *jobs)
{
    size_t kept = 0;
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->entries[i]->missed >= MISSED_MAX)
            free(jobs->entries[i]);
        else
            jobs->entries[kept++] = jobs->entries[i];
    jobs->count = kept;
}

static enum err add(struct colmet_jobs *jobs, const struct job *reported, uint64_t time_ns)
{
    struct colmet_jobs_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return NOMEM;
    *entry = (struct colmet_jobs_entry){ .job.job = *reported };
    memcpy(entry->job.id, reported->id, strnlen(reported->id, sizeof entry->job.id - 1));
    entry->job.job.id = entry->job.id;
    entry->job.job.start_ns = time_ns;
    jobs->entries[jobs->count++] = entry;
    return OK;
}

enum err colmet_jobs_note(struct colmet_jobs *jobs, struct batch *batch)
{
    uint64_t time_ns = batch->count ? batch->samples[0].time_ns : 0;
    size_t events = 0;
    enum err err = OK;
    free_ended(jobs);
    if (!grow(jobs, jobs->count + batch->job_count))
        return NOMEM;
    for (size_t i = 0; i < jobs->count; i++) {
        jobs->entries[i]->missed++;
        jobs->entries[i]->job.job.source = COLMET_NOT_INVOLVED;
    }
    for (size_t i = 0; i < batch->job_count && !err; i++) {
        struct colmet_jobs_entry *entry = find(jobs, batch->jobs[i]->id);
        if (entry) {
            entry->missed = 0;
            entry->job.job.source = batch->jobs[i]->source;
            continue;
        }
        err = add(jobs, batch->jobs[i], time_ns);
        if (!err)
            jobs->events[events++] = (struct batch_event){ JOB_BEGIN, &jobs->entries[jobs->count - 1]->job.job };
    }
    for (size_t i = 0; i < jobs->count; i++) {
        jobs->list[i] = &jobs->entries[i]->job.job;
        if (jobs->entries[i]->missed < MISSED_MAX)
            continue;
        jobs->entries[i]->job.job.end_ns = time_ns;
        jobs->events[events++] = (struct batch_event){ JOB_END, &jobs->entries[i]->job.job };
    }
    batch->jobs = jobs->list;
    batch->job_count = jobs->count;
    batch->events = jobs->events;
    batch->event_count = events;
    return err;
}
