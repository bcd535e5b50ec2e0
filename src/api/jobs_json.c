/* Merges the jobs of all nodes by id and user: a collector has thousands. */
#include "api/jobs_json.h"

#include "base/vec.h"
#include "api/schema.h"
#include "api/sets_json.h"

#include <stdlib.h>
#include <string.h>

struct job_key {
    const struct jobs_json_job *list;
    const struct job *job;
};

/* Two users can have jobs of the same name on two nodes. */
static bool is_job(const void *item, const void *key)
{
    const struct job *wanted = ((const struct job_key *)key)->job;
    const struct job *job = ((const struct job_key *)key)->list[map_index_of_item(item)].job;
    return strcmp(job->id, wanted->id) == 0 && strcmp(job->user, wanted->user) == 0;
}

static enum err find_or_add(struct jobs_json *jobs, const struct job *job, struct jobs_json_job **found)
{
    uint64_t hash = map_hash_string(map_hash_string(0, job->id), job->user);
    const void *item = map_find(&jobs->map, hash, is_job, &(struct job_key){ jobs->list, job });
    if (item) {
        *found = &jobs->list[map_index_of_item(item)];
        return OK;
    }
    enum err err = array_reserve(jobs->list, jobs->capacity, jobs->count + 1, VEC_MAX);
    if (!err)
        err = map_add(&jobs->map, hash, map_item_of_index(jobs->count), VEC_MAX);
    if (err)
        return err;
    *found = &jobs->list[jobs->count++];
    **found = (struct jobs_json_job){ .job = job };
    return OK;
}

static uint64_t sum_known(uint64_t sum, uint64_t more, bool is_first)
{
    return is_first ? more : sum && more ? sum + more : 0;
}

static void add_job(struct jobs_json_job *held, const struct job *job, const struct job_figures *figures)
{
    held->cores_milli = sum_known(held->cores_milli, job->cores_milli, !held->nodes);
    held->memory_bytes = sum_known(held->memory_bytes, job->memory_bytes, !held->nodes);
    held->nodes++;
    if (figures)
        job_figures_sum(&held->figures, figures);
}

enum err jobs_json_add(struct jobs_json *jobs, const struct view *view)
{
    struct job_figures_all all;
    struct view_position at = { 0 };
    struct jobs_json_job *held;
    const struct job *job;
    const char *host;
    enum err err = job_figures_read(&all, view);
    if (err)
        return err;
    jobs->nodes++;
    job_figures_sum(&jobs->node, &all.node);
    while (!err && view_next_job(view, &at, &host, &job)) {
        if (!view_shows_job(view, job)) {
            jobs->others++;
            continue;
        }
        err = find_or_add(jobs, job, &held);
        if (!err)
            add_job(held, job, job->slot < all.job_count ? &all.jobs[job->slot] : NULL);
    }
    job_figures_clear(&all);
    return err;
}

void jobs_json_clear(struct jobs_json *jobs)
{
    free(jobs->list);
    map_clear(&jobs->map);
    *jobs = (struct jobs_json){ 0 };
}

static void write_job(struct json *json, const struct jobs_json_job *held)
{
    const struct job *job = held->job;
    json_begin_object(json);
    json_field_text(json, API_ID, job->id);
    if (*job->other_id)
        json_field_text(json, API_OTHER_ID, job->other_id);
    json_field_text(json, API_SOURCE, job->source);
    if (*job->user)
        json_field_text(json, API_USER, job->user);
    if (job->uid != UINT32_MAX)
        json_field_u64(json, API_UID, job->uid);
    json_field_u64(json, API_START_NS, job->start_ns);
    if (job->end_ns)
        json_field_u64(json, API_END_NS, job->end_ns);
    if (held->cores_milli)
        json_field_u64(json, API_CORES_MILLI, held->cores_milli);
    if (held->memory_bytes)
        json_field_u64(json, API_MEMORY_BYTES, held->memory_bytes);
    if (job->cgroup && *job->cgroup)
        json_field_text(json, API_CGROUP, job->cgroup);
    if (job->pid)
        json_field_u64(json, API_PID, job->pid);
    json_field_u64(json, API_NODES, held->nodes);
    job_figures_write(json, &held->figures);
    json_end_object(json);
}

void jobs_json_write(const struct jobs_json *jobs, const struct view *view, struct buf *out)
{
    struct json json;
    sets_json_begin(&json, out, view);
    json_field_u64(&json, API_NODES, jobs->nodes);
    json_key(&json, API_NODE);
    json_begin_object(&json);
    job_figures_write(&json, &jobs->node);
    json_end_object(&json);
    json_key(&json, API_JOBS);
    json_begin_array(&json);
    for (size_t i = 0; i < jobs->count; i++)
        write_job(&json, &jobs->list[i]);
    json_end_array(&json);
    json_field_u64(&json, API_OTHERS, jobs->others);
    json_end_object(&json);
    json_end(&json);
}

void jobs_json_write_node(const struct view *view, struct buf *out)
{
    struct jobs_json jobs = { 0 };
    if (jobs_json_add(&jobs, view))
        out->failed = true;
    else
        jobs_json_write(&jobs, view, out);
    jobs_json_clear(&jobs);
}
