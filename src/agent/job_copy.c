/* A job and its five strings in two allocations, so that the strings can change while the job keeps its address. */
#include "agent/job_copy.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(const char *text)
{
    return strlen(text) + 1;
}

static const char *put(char **at, const char *text)
{
    char *copy = memcpy(*at, text, size_of(text));
    *at += size_of(text);
    return copy;
}

struct job_copy *job_copy_new(const struct job *job, enum job_event event)
{
    struct job_copy *copy = calloc(1, sizeof *copy);
    char *at = malloc(size_of(job->id) + size_of(job->other_id) + size_of(job->source) + size_of(job->user)
                      + size_of(job->cgroup));
    if (!copy || !at) {
        free(copy);
        free(at);
        return NULL;
    }
    *copy = (struct job_copy){ .job = *job, .strings = at, .event = event };
    copy->job.id = put(&at, job->id);
    copy->job.other_id = put(&at, job->other_id);
    copy->job.source = put(&at, job->source);
    copy->job.user = put(&at, job->user);
    copy->job.cgroup = put(&at, job->cgroup);
    return copy;
}

void job_copy_free(struct job_copy **copy)
{
    if (*copy)
        free((*copy)->strings);
    free(*copy);
    *copy = NULL;
}

void job_copy_free_all(struct job_copy **list)
{
    while (*list) {
        struct job_copy *first = *list;
        *list = first->next;
        job_copy_free(&first);
    }
}

struct job_copy **job_copy_find(struct job_copy **list, uint32_t slot)
{
    while (*list && (*list)->job.slot != slot)
        list = &(*list)->next;
    return list;
}

void job_copy_swap(struct job_copy *copy, struct job_copy *update)
{
    struct job job = copy->job;
    char *strings = copy->strings;
    copy->job = update->job;
    copy->strings = update->strings;
    update->job = job;
    update->strings = strings;
}
