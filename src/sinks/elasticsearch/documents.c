/* Writes {"create": {"_index": "sonde_meminfo", "_id": "n1.18c2.42.0"}}
 * {"timestamp": 1794767385123, "time_ns": …, "host": "n1", "set": "meminfo", "meminfo": {"mem_total": 24682416, …}} */
#include "sinks/elasticsearch/documents.h"

#include "base/clock.h"
#include "net/json.h"
#include "sinks/elasticsearch/action.h"

struct documents {
    struct outbox *outbox;
    struct elasticsearch_indexes *indexes;
    const struct batch *batch;
    struct json json;
    struct buf id;
};

static void set_id(struct documents *d, const char *kind, size_t place, const char *job, const char *instance,
                    uint64_t time_ns)
{
    const struct elasticsearch_action_name name = { kind, place, job, instance, time_ns };
    elasticsearch_action_id(&d->id, d->batch, &name);
}

static enum err begin_document(struct documents *d, uint32_t index, uint64_t time_ns)
{
    struct json *json = &d->json;
    elasticsearch_action_add(&d->outbox->bytes, d->indexes->list[index].name, buf_text(&d->id));
    json_init_line(json, &d->outbox->bytes);
    json_begin_object(json);
    json_field_u64(json, "timestamp", time_ns / NS_PER_MS);
    json_field_u64(json, "time_ns", time_ns);
    if (d->batch->host)
        json_field_text(json, "host", d->batch->host);
    return buf_err(&d->id);
}

static enum err end_document(struct documents *d, uint32_t index)
{
    json_end_object(&d->json);
    json_end(&d->json);
    return outbox_end_item(d->outbox, index);
}

/* Skips values that do not fit a "long". */
static void add_value(struct json *json, const struct metric *metric, union value value)
{
    char field[128];
    if (metric->type == U64 && value.u64 > INT64_MAX)
        return;
    elasticsearch_field(field, sizeof field, metric->name);
    json_key(json, field);
    switch (metric->type) {
    case U64: json_u64(json, value.u64); break;
    case I64: json_i64(json, value.i64); break;
    case F64: json_real(json, value.f64); break;
    }
}

static void add_values(struct json *json, const struct sample *sample)
{
    char field[128];
    elasticsearch_field(field, sizeof field, sample->set->name);
    json_key(json, field);
    json_begin_object(json);
    for (size_t i = 0; i < sample->set->size; i++)
        if (!sample->known || sample->known[i])
            add_value(json, &sample->set->metrics[i], sample->values[i]);
    json_end_object(json);
}

static enum err add_sample(struct documents *d, size_t place)
{
    const struct sample *sample = &d->batch->samples[place];
    const struct job *job = batch_job(d->batch, sample);
    uint32_t index;
    enum err err = elasticsearch_index_of(d->indexes, sample->set->name, sample->set, false, &index);
    if (err)
        return err;
    set_id(d, d->batch->sequence ? "" : sample->set->name, place, sample->job, sample->instance, sample->time_ns);
    err = begin_document(d, index, sample->time_ns);
    if (sample->job)
        json_field_text(&d->json, "job", sample->job);
    if (job && *job->user)
        json_field_text(&d->json, "user", job->user);
    json_field_text(&d->json, "set", sample->set->name);
    if (*sample->instance)
        json_field_text(&d->json, "instance", sample->instance);
    add_values(&d->json, sample);
    return err ? err : end_document(d, index);
}

static uint64_t newest_of(const struct batch *batch)
{
    uint64_t newest_ns = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->samples[i].time_ns > newest_ns)
            newest_ns = batch->samples[i].time_ns;
    return newest_ns;
}

static enum err add_event(struct documents *d, size_t place)
{
    static const char *const names[] = { [JOB_BEGIN] = "begin", [JOB_CHANGE] = "change", [JOB_END] = "end" };
    const struct batch_event *event = &d->batch->events[place];
    const struct job *job = event->job;
    uint64_t time_ns = event->event == JOB_BEGIN ? job->start_ns : event->event == JOB_END ? job->end_ns : 0;
    uint32_t index;
    enum err err = elasticsearch_index_of(d->indexes, "job_events", NULL, false, &index);
    if (err)
        return err;
    time_ns = time_ns ? time_ns : newest_of(d->batch);
    set_id(d, names[event->event], place, job->id, "", time_ns);
    err = begin_document(d, index, time_ns);
    json_field_text(&d->json, "event", names[event->event]);
    json_field_text(&d->json, "job", job->id);
    if (*job->user)
        json_field_text(&d->json, "user", job->user);
    if (job->cores_milli)
        json_field_u64(&d->json, "cores_milli", job->cores_milli);
    if (job->memory_bytes && job->memory_bytes <= INT64_MAX)
        json_field_u64(&d->json, "memory_bytes", job->memory_bytes);
    return err ? err : end_document(d, index);
}

static enum err add_gap(struct documents *d, size_t place)
{
    const struct batch_gap *gap = &d->batch->gaps[place];
    uint32_t index;
    enum err err = elasticsearch_index_of(d->indexes, "gaps", NULL, false, &index);
    if (err)
        return err;
    set_id(d, "gap", place, NULL, "", gap->from_ns);
    err = begin_document(d, index, gap->to_ns ? gap->to_ns : newest_of(d->batch));
    if (gap->from_ns)
        json_field_u64(&d->json, "from_ns", gap->from_ns);
    if (gap->to_ns)
        json_field_u64(&d->json, "to_ns", gap->to_ns);
    json_field_u64(&d->json, "batches", gap->batches);
    json_field_text(&d->json, "reason", gap->reason);
    return err ? err : end_document(d, index);
}

enum err elasticsearch_documents_add(struct outbox *outbox, struct elasticsearch_indexes *indexes, const struct batch *batch)
{
    struct documents d = { .outbox = outbox, .indexes = indexes, .batch = batch };
    enum err err = OK;
    buf_init(&d.id, 64u << 10);
    for (size_t i = 0; i < batch->count && !err; i++)
        err = add_sample(&d, i);
    for (size_t i = 0; i < batch->event_count && !err; i++)
        err = add_event(&d, i);
    for (size_t i = 0; i < batch->gap_count && !err; i++)
        err = add_gap(&d, i);
    buf_clear(&d.id);
    return err;
}
