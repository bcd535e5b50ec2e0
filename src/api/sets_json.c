/* Descriptions are written once, in schemas; sets refer to them by index. */
#include "api/sets_json.h"

#include "api/schema.h"
#include "base/clock.h"
#include "model/set_index.h"

#include <string.h>

void sets_json_begin(struct json *json, struct buf *out, const struct view *view)
{
    json_init(json, out);
    json_begin_object(json);
    json_field_text(json, API_HOST, view->host);
    json_field_u64(json, API_TIME_NS, clock_realtime_ns());
    json_field_text(json, API_VERSION, SONDE_VERSION);
}

static void add_metric(struct json *json, const struct metric *metric)
{
    static const char *const types[] = { [U64] = "u64", [I64] = "i64", [F64] = "f64" };
    json_begin_object(json);
    json_field_text(json, API_NAME, metric->name);
    if (metric->source)
        json_field_text(json, API_SOURCE, metric->source);
    json_field_text(json, API_UNIT, metric->unit);
    json_field_text(json, API_KIND, metric->kind == COUNTER ? API_COUNTER : API_GAUGE);
    json_field_text(json, API_TYPE, types[metric->type]);
    json_field_text(json, API_HELP, metric->help);
    json_end_object(json);
}

static void add_schema(struct json *json, const struct set *set, bool with_values)
{
    json_begin_object(json);
    json_field_text(json, API_NAME, set->name);
    json_field_u64(json, API_SIZE, set->size);
    if (set->instances)
        json_field_text(json, API_INSTANCES, set->instances);
    if (with_values) {
        json_key(json, API_METRICS);
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

static void add_values(struct json *json, const struct view_entry *entry)
{
    json_key(json, API_VALUES);
    json_begin_array(json);
    for (size_t i = 0; i < entry->set->size; i++)
        if (entry->known[i])
            add_value(json, entry->set->metrics[i].type, entry->values[i]);
        else
            json_null(json);
    json_end_array(json);
}

static void add_job(struct json *json, const struct view_entry *entry)
{
    if (entry->job)
        json_field_text(json, API_JOB, entry->job);
    if (entry->of && *entry->of->user)
        json_field_text(json, API_USER, entry->of->user);
    if (entry->of && entry->of->uid != UINT32_MAX)
        json_field_u64(json, API_UID, entry->of->uid);
}

static void add_set(struct json *json, const struct view *view, const struct view_entry *entry, size_t schema)
{
    json_field_u64(json, API_SCHEMA, schema);
    if (strcmp(entry->host, view->host) != 0)
        json_field_text(json, API_HOST, entry->host);
    json_field_text(json, API_INSTANCE, entry->instance);
    add_job(json, entry);
    json_field_u64(json, API_TIME_NS, entry->time_ns);
    if (entry->first_ns)
        json_field_u64(json, API_FIRST_NS, entry->first_ns);
    if (entry->updates)
        json_field_u64(json, API_UPDATES, entry->updates);
    if (entry->period_ns)
        json_field_u64(json, API_PERIOD_NS, entry->period_ns);
    if (entry->read_ns)
        json_field_u64(json, API_DURATION_NS, entry->read_ns);
}

static enum err add_schemas(struct json *json, struct set_index *index, const struct view *view, bool with_values)
{
    struct view_entry entry;
    struct view_position at = { 0 };
    json_key(json, API_SCHEMAS);
    json_begin_array(json);
    while (view_next(view, &at, &entry)) {
        size_t count = index->count, number;
        if (set_index_of(index, entry.set, &number))
            return NOMEM;
        if (number == count)
            add_schema(json, entry.set, with_values);
    }
    json_end_array(json);
    return OK;
}

static enum err add_sets(struct json *json, struct set_index *index, const struct view *view, bool with_values)
{
    struct view_entry entry;
    struct view_position at = { 0 };
    size_t schema;
    json_key(json, API_SETS);
    json_begin_array(json);
    while (view_next(view, &at, &entry)) {
        if (set_index_of(index, entry.set, &schema))
            return NOMEM;
        json_begin_object(json);
        add_set(json, view, &entry, schema);
        if (with_values)
            add_values(json, &entry);
        json_end_object(json);
    }
    json_end_array(json);
    return OK;
}

/* For the names of producers, and the job ids of sets of a node. */
static void add_jobs(struct json *json, const struct view *view)
{
    struct view_position at = { 0 };
    const struct job *job;
    const char *host;
    json_key(json, API_JOBS);
    json_begin_array(json);
    while (view_next_job(view, &at, &host, &job)) {
        if (!view_shows_job(view, job))
            continue;
        json_begin_object(json);
        if (strcmp(host, view->host) != 0)
            json_field_text(json, API_HOST, host);
        json_field_text(json, API_JOB, job->id);
        json_field_text(json, API_USER, job->user);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_owner(struct json *json, const struct view *view)
{
    if (view->producer)
        json_field_text(json, API_PRODUCER, view->producer);
    json_field_u64(json, API_UID, view->owner_uid);
    json_field_u64(json, API_GID, view->owner_gid);
}

void sets_json_write(struct buf *out, const struct view *view, bool with_values)
{
    struct json json;
    struct set_index index;
    set_index_init(&index);
    sets_json_begin(&json, out, view);
    add_owner(&json, view);
    if (add_schemas(&json, &index, view, with_values) || add_sets(&json, &index, view, with_values))
        out->failed = true;
    add_jobs(&json, view);
    json_end_object(&json);
    json_end(&json);
    set_index_clear(&index);
}
