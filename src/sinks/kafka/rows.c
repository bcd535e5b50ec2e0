/* {"time_ns": …, "host": "n1", "set": "meminfo", "stream": "9f…", "sequence": 42, "place": 0, "mem_total": 24682416,
 * …} */
#include "sinks/kafka/rows.h"

#include "base/clock.h"
#include "net/json.h"
#include "compat/ldms/names.h"
#include "net/msgpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW_MAX (16u << 20)

/* A row that is being written in one of the two formats. */
struct row_encoder {
    bool is_msgpack;
    struct json json;
    struct buf *pairs;
    size_t count;
};

static const char *const reserved_names[] = {
    "time_ns", "host", "job", "job_user", "set", "instance", "stream", "sequence", "place", "Time", "Time_usec", "ProducerName",
    "component_id", "job_id", "job_ids", "app_id",
};

void kafka_rows_init(struct kafka_rows *rows, enum kafka_format format, bool ldms)
{
    *rows = (struct kafka_rows){ .format = format, .ldms = ldms };
    buf_init(&rows->pairs, ROW_MAX);
}

void kafka_rows_clear(struct kafka_rows *rows)
{
    buf_clear(&rows->pairs);
}

static void key(struct row_encoder *row, const char *name)
{
    row->count++;
    if (row->is_msgpack)
        msgpack_text(row->pairs, bytes_of(name));
    else
        json_key(&row->json, name);
}

static void add_u64(struct row_encoder *row, const char *name, uint64_t value)
{
    key(row, name);
    if (row->is_msgpack)
        msgpack_u64(row->pairs, value);
    else
        json_u64(&row->json, value);
}

static void add_f64(struct row_encoder *row, const char *name, double value)
{
    key(row, name);
    if (row->is_msgpack)
        msgpack_f64(row->pairs, value);
    else
        json_f64(&row->json, value);
}

/* Any bytes: if they are not UTF-8, JSON gets the exact ones in a second field. */
static void add_text(struct row_encoder *row, const char *name, const char *text)
{
    if (row->is_msgpack) {
        key(row, name);
        msgpack_text(row->pairs, bytes_of(text));
    } else
        json_field_text(&row->json, name, text);
}

static void add_value(struct row_encoder *row, const char *name, enum metric_type type, union value value)
{
    if (type == U64)
        add_u64(row, name, value.u64);
    else if (type == F64)
        add_f64(row, name, value.f64);
    else {
        key(row, name);
        if (row->is_msgpack)
            msgpack_i64(row->pairs, value.i64);
        else
            json_i64(&row->json, value.i64);
    }
}

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof reserved_names / sizeof *reserved_names; i++)
        if (name[0] == reserved_names[i][0] && strcmp(name, reserved_names[i]) == 0)
            return true;
    return false;
}

/* A metric named like a reserved field gets the prefix "metric_". */
static void add_metric(const struct kafka_rows *rows, struct row_encoder *row, const struct set *set, size_t at,
                       union value value)
{
    char other[128];
    const struct metric *metric = &set->metrics[at];
    const char *name = rows->ldms && metric->source ? metric->source : metric->name;
    if (is_reserved(name)) {
        snprintf(other, sizeof other, "metric_%s", name);
        name = other;
    }
    if (rows->ldms && metric->type == U64)
        value.u64 /= ldms_unit_of(set, metric).divisor;
    add_value(row, name, metric->type, value);
}

/* LDMS job ids are numbers: the leading digits of the job id; 0: none. */
static uint64_t job_number(const char *job)
{
    uint64_t number = 0;
    for (; job && *job >= '0' && *job <= '9'; job++)
        number = number * 10 + (uint64_t)(*job - '0');
    return number;
}

/* Several jobs do not fit into the number job_id: it is 0, and job_ids lists them. */
static void add_ldms_head(struct row_encoder *row, const struct ldms_row *facts, const char *host, uint64_t time_ns)
{
    bool is_list = strchr(facts->jobs, ' ') != NULL;
    uint64_t time_us = time_ns / NS_PER_US;
    add_f64(row, "Time", (double)time_us / 1e6);
    add_u64(row, "Time_usec", time_ns % NS_PER_S / NS_PER_US);
    add_text(row, "ProducerName", facts->producer);
    add_u64(row, "component_id", ldms_component(host));
    add_u64(row, "job_id", is_list ? 0 : job_number(facts->jobs));
    if (is_list)
        add_text(row, "job_ids", facts->jobs);
    add_u64(row, "app_id", 0);
}

static void add_time(const struct kafka_rows *rows, struct row_encoder *row, const struct batch *batch,
                     const struct kafka_batch_id *batch_id, size_t place, uint64_t time_ns)
{
    const struct ldms_row host = { .producer = batch_id->host, .jobs = "" };
    if (rows->ldms)
        add_ldms_head(row, place < batch->count ? &rows->ldms_rows[place] : &host, batch_id->host, time_ns);
    add_u64(row, "time_ns", time_ns);
}

/* The fields of every row. The stream id is a string, because many JSON parsers lose precision above 2^53. */
static void add_head(const struct kafka_rows *rows, struct row_encoder *row, const struct batch *batch,
                     const struct kafka_batch_id *batch_id, size_t place, uint64_t time_ns)
{
    char stream[20];
    snprintf(stream, sizeof stream, "%016" PRIx64, batch_id->stream);
    add_time(rows, row, batch, batch_id, place, time_ns);
    add_text(row, "host", batch_id->host);
    add_text(row, "set", kafka_rows_set(batch, place));
    add_text(row, "stream", stream);
    add_u64(row, "sequence", batch_id->sequence);
    add_u64(row, "place", place);
}

/* "cpu_list_entry_idx", "cpu_list_name": the index and name of the instance within its set. */
static void add_list(struct row_encoder *row, const struct sample *sample, uint64_t index)
{
    char name[SET_NAME_MAX + 32];
    snprintf(name, sizeof name, "%.32s_list_entry_idx", sample->set->instances);
    add_u64(row, name, index);
    snprintf(name, sizeof name, "%.32s_list_name", sample->set->instances);
    add_text(row, name, sample->instance);
}

static void add_sample(const struct kafka_rows *rows, struct row_encoder *row, const struct batch *batch,
                       size_t place)
{
    const struct sample *sample = &batch->samples[place];
    const struct job *job = batch_job(batch, sample);
    const struct ldms_row *facts = rows->ldms ? &rows->ldms_rows[place] : NULL;
    const char *user = facts ? facts->user : job ? job->user : NULL;
    if (sample->job)
        add_text(row, "job", sample->job);
    if (user && *user)
        add_text(row, "job_user", user);
    if (*sample->instance)
        add_text(row, "instance", sample->instance);
    if (facts && sample->set->instances)
        add_list(row, sample, facts->index);
    for (size_t i = 0; i < sample->set->size; i++)
        if (!sample->known || sample->known[i])
            add_metric(rows, row, sample->set, i, sample->values[i]);
}

static void add_event(struct row_encoder *row, const struct batch_event *event)
{
    static const char *const event_names[] = { [JOB_BEGIN] = "begin", [JOB_CHANGE] = "change", [JOB_END] = "end" };
    const struct job *job = event->job;
    add_text(row, "job", job->id);
    add_text(row, "event", event_names[event->event]);
    add_text(row, "source", job->source);
    if (*job->user)
        add_text(row, "job_user", job->user);
    if (job->uid != UINT32_MAX)
        add_u64(row, "uid", job->uid);
    add_u64(row, "start_ns", job->start_ns);
    if (job->end_ns)
        add_u64(row, "end_ns", job->end_ns);
    if (job->cores_milli)
        add_f64(row, "cores", (double)job->cores_milli / 1000);
    if (job->memory_bytes)
        add_u64(row, "memory_bytes", job->memory_bytes);
}

static void add_gap(struct row_encoder *row, const struct batch_gap *gap)
{
    if (gap->from_ns)
        add_u64(row, "from_ns", gap->from_ns);
    if (gap->to_ns)
        add_u64(row, "to_ns", gap->to_ns);
    add_u64(row, "batches", gap->batches);
    add_text(row, "reason", gap->reason ? gap->reason : "");
}

size_t kafka_rows_count(const struct batch *batch)
{
    return batch->count + batch->event_count + batch->gap_count;
}

const char *kafka_rows_set(const struct batch *batch, size_t place)
{
    if (place < batch->count)
        return batch->samples[place].set->name;
    return place < batch->count + batch->event_count ? "jobs" : "gaps";
}

const char *kafka_rows_key(const struct batch *batch, const struct kafka_batch_id *batch_id, size_t place)
{
    if (place < batch->count)
        return batch->samples[place].job ? batch->samples[place].job : batch_id->host;
    place -= batch->count;
    return place < batch->event_count ? batch->events[place].job->id : batch_id->host;
}

/* An event has the time of the samples in its batch. */
static uint64_t time_of(const struct batch *batch, size_t place)
{
    if (place < batch->count)
        return batch->samples[place].time_ns;
    if (place >= batch->count + batch->event_count)
        return batch->gaps[place - batch->count - batch->event_count].to_ns;
    const struct batch_event *event = &batch->events[place - batch->count];
    if (batch->count)
        return batch->samples[0].time_ns;
    return event->event == JOB_END && event->job->end_ns ? event->job->end_ns : event->job->start_ns;
}

void kafka_rows_add(struct kafka_rows *rows, const struct batch *batch, const struct kafka_batch_id *batch_id, size_t place,
                    struct buf *out)
{
    struct row_encoder row = { .is_msgpack = rows->format == KAFKA_MSGPACK, .pairs = &rows->pairs };
    buf_reset(&rows->pairs);
    if (!row.is_msgpack) {
        json_init_line(&row.json, out);
        json_begin_object(&row.json);
    }
    add_head(rows, &row, batch, batch_id, place, time_of(batch, place));
    if (place < batch->count)
        add_sample(rows, &row, batch, place);
    else if (place < batch->count + batch->event_count)
        add_event(&row, &batch->events[place - batch->count]);
    else
        add_gap(&row, &batch->gaps[place - batch->count - batch->event_count]);
    if (!row.is_msgpack) {
        json_end_object(&row.json);
        return;
    }
    msgpack_map(out, row.count);
    buf_add(out, rows->pairs.data, rows->pairs.size);
    out->failed = out->failed || rows->pairs.failed;
}
