/* Descriptions stand once, in schemas; the sets point to them. */
#include "agent/state.h"

#include "agent/figures.h"
#include "base/clock.h"
#include "base/json.h"

static void begin(struct json *json, struct buf *out, const struct view *view)
{
    json_init(json, out);
    json_begin_object(json);
    json_field_text(json, "host", view->host);
    json_field_u64(json, "time_ns", clock_realtime_ns());
    json_field_text(json, "version", SONDE_VERSION);
}

static void add_metric(struct json *json, const struct metric *metric)
{
    static const char *const types[] = { [U64] = "u64", [I64] = "i64", [F64] = "f64" };
    json_begin_object(json);
    json_field_text(json, "name", metric->name);
    if (metric->source)
        json_field_text(json, "source", metric->source);
    json_field_text(json, "unit", metric->unit);
    json_field_text(json, "kind", metric->kind == COUNTER ? "counter" : "gauge");
    json_field_text(json, "type", types[metric->type]);
    json_field_text(json, "help", metric->help);
    json_end_object(json);
}

static void add_schema(struct json *json, const struct set *set, bool with_values)
{
    json_begin_object(json);
    json_field_text(json, "name", set->name);
    json_field_u64(json, "size", set->size);
    if (set->instances)
        json_field_text(json, "instances", set->instances);
    if (with_values) {
        json_key(json, "metrics");
        json_begin_array(json);
        for (size_t i = 0; i < set->size; i++)
            add_metric(json, &set->metrics[i]);
        json_end_array(json);
    }
    json_end_object(json);
}

static void add_value(struct json *json, enum metric_type type, union value value)
{
    if (type == U64)
        json_u64(json, value.u64);
    else if (type == I64)
        json_i64(json, value.i64);
    else
        json_f64(json, value.f64);
}

static void add_values(struct json *json, const struct live_entry *entry)
{
    json_key(json, "values");
    json_begin_array(json);
    for (size_t i = 0; i < entry->set->size; i++)
        if (entry->known[i])
            add_value(json, entry->set->metrics[i].type, entry->values[i]);
        else
            json_null(json);
    json_end_array(json);
}

static void add_set(struct json *json, const struct live_entry *entry, const struct job *job, size_t schema)
{
    json_field_u64(json, "schema", schema);
    json_field_text(json, "instance", entry->instance);
    if (entry->job)
        json_field_text(json, "job", entry->job);
    if (job && *job->user)
        json_field_text(json, "user", job->user);
    if (job && job->uid != UINT32_MAX)
        json_field_u64(json, "uid", job->uid);
    json_field_u64(json, "time_ns", entry->time_ns);
    json_field_u64(json, "first_ns", entry->first_ns);
    json_field_u64(json, "updates", entry->updates);
    if (entry->period_ns)
        json_field_u64(json, "period_ns", entry->period_ns);
}

static void add_schemas(struct json *json, const struct view *view, bool with_values)
{
    const struct live_entry *entry;
    const struct set *set = NULL;
    size_t at = 0;
    json_key(json, "schemas");
    json_begin_array(json);
    for (; (entry = live_next(view->live, &at)); set = entry->set)
        if (entry->set != set)
            add_schema(json, entry->set, with_values);
    json_end_array(json);
}

void state_sets(struct buf *out, const struct view *view, bool with_values)
{
    struct json json;
    const struct live_entry *entry;
    const struct set *set = NULL;
    const struct job *job;
    size_t at = 0, schema = 0;
    begin(&json, out, view);
    add_schemas(&json, view, with_values);
    json_key(&json, "sets");
    json_begin_array(&json);
    for (; (entry = live_next(view->live, &at)); set = entry->set) {
        schema += set && entry->set != set;
        if (!view_shows(view, entry, &job))
            continue;
        json_begin_object(&json);
        add_set(&json, entry, job, schema);
        if (with_values)
            add_values(&json, entry);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    json_end(&json);
}

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
    size_t at = 0, others = 0;
    while (view->jobs && (job = jobs_next(view->jobs, &at)))
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
    begin(&json, out, view);
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
