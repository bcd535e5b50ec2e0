/* The jobs, each with the few numbers that people look at first. */
#include "agent/state.h"

#include "agent/figures.h"
#include "sink/held.h"

static void add_job(struct json *json, const struct job *job, const struct figures *figures)
{
    json_begin_object(json);
    json_field_text(json, "id", job->id);
    if (*job->other_id)
        json_field_text(json, "other_id", job->other_id);
    json_field_text(json, "source", job->source);
    if (*job->user)
        json_field_text(json, "user", job->user);
    if (job->uid != UINT32_MAX)
        json_field_u64(json, "uid", job->uid);
    json_field_u64(json, "start_ns", job->start_ns);
    if (job->end_ns)
        json_field_u64(json, "end_ns", job->end_ns);
    if (job->cores_milli)
        json_field_u64(json, "cores_milli", job->cores_milli);
    if (job->memory_bytes)
        json_field_u64(json, "memory_bytes", job->memory_bytes);
    if (*job->cgroup)
        json_field_text(json, "cgroup", job->cgroup);
    if (job->pid)
        json_field_u64(json, "pid", job->pid);
    if (figures)
        figures_write(json, figures);
    json_end_object(json);
}

/* Returns how many jobs are not shown. */
static size_t add_jobs(struct json *json, const struct view *view, const struct figures_all *all)
{
    const struct job *job;
    const char *host;
    struct view_at at = { 0 };
    size_t others = 0;
    while (view_next_job(view, &at, &host, &job))
        if (view_shows_job(view, job))
            add_job(json, job, job->slot < all->job_count ? &all->jobs[job->slot] : NULL);
        else
            others++;
    return others;
}

void state_jobs(struct buf *out, const struct view *view)
{
    struct json json;
    struct figures_all all;
    if (figures_read(&all, view)) {
        out->failed = true;
        return;
    }
    held_begin(&json, out, view);
    json_key(&json, "node");
    json_begin_object(&json);
    figures_write(&json, &all.node);
    json_end_object(&json);
    json_key(&json, "jobs");
    json_begin_array(&json);
    size_t others = add_jobs(&json, view, &all);
    json_end_array(&json);
    json_field_u64(&json, "others", others);
    json_end_object(&json);
    json_end(&json);
    figures_clear(&all);
}
