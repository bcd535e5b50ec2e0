/* WriteRequest { repeated TimeSeries timeseries = 1 }
 * TimeSeries { repeated Label labels = 1, sorted by name; repeated Sample samples = 2 }
 * Label { string name = 1; string value = 2 }    Sample { double value = 1; int64 timestamp = 2, in ms } */
#include "sinks/prometheus/remote_write.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "model/prom_label.h"
#include "model/prom_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_BYTES_MAX (256u << 10)
#define STALE_BITS 0x7ff0000000000002ull /* Prometheus's staleness marker, a NaN that arithmetic never yields */
#define NAN_BITS 0x7ff8000000000001ull
#define VARINT_MAX 10
#define SAMPLE_BODY_MAX (1 + 8 + 1 + VARINT_MAX)
#define GROUPS (1u << 16)
#define DELAY_MAX_MS 10 /* samples that are older than the last one by more are out of order, not simultaneous */

/* The series of one sample, which all have the same labels. A group may be overwritten by another of the same hash: it
 * is needed for samples that follow each other closely, and for the end of jobs. */
struct remote_write_group {
    uint64_t hash;
    uint64_t written; /* a bit for each of the first metrics that have a series */
    int64_t time_ms;  /* of the last sample or marker; 0: none */
};

/* The points to add to a series. */
struct points {
    int64_t time_ms;
    double value;
    bool has_value;
    bool has_marker; /* 1 ms after the value */
};

enum err remote_write_init(struct remote_write *write, struct buf *out)
{
    *write = (struct remote_write){ .out = out, .groups = calloc(GROUPS, sizeof *write->groups) };
    buf_init(&write->labels, LABEL_BYTES_MAX);
    return write->groups ? OK : NOMEM;
}

void remote_write_clear(struct remote_write *write)
{
    buf_clear(&write->labels);
    free(write->groups);
    write->groups = NULL;
}

static struct remote_write_group *find_group(struct remote_write *write, const char *host, const char *job, const char *set,
                                             const char *instance)
{
    uint64_t hash = hash_add_text(hash_add_text(hash_add_text(hash_add_text(HASH_START, host), job), set), instance);
    struct remote_write_group *group = &write->groups[(hash ^ hash >> 32) % GROUPS];
    if (group->hash != hash)
        *group = (struct remote_write_group){ .hash = hash };
    return group;
}

/* Prometheus keeps one sample per millisecond and series, and rejects another one. */
static int64_t next_time_ms(const struct remote_write_group *group, uint64_t time_ns)
{
    int64_t time_ms = (int64_t)(time_ns / NS_PER_MS);
    return time_ms <= group->time_ms && time_ms > group->time_ms - DELAY_MAX_MS ? group->time_ms + 1 : time_ms;
}

static size_t encode_varint(uint8_t *to, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

/* Tag and length of a length-delimited field. */
static void add_head(struct buf *out, unsigned field, size_t size)
{
    uint8_t head[1 + VARINT_MAX];
    head[0] = (uint8_t)(field << 3 | 2);
    buf_add(out, head, 1 + encode_varint(head + 1, size));
}

static size_t head_size(size_t size)
{
    uint8_t scratch[VARINT_MAX];
    return 1 + encode_varint(scratch, size);
}

static size_t label_size(size_t name, size_t value)
{
    return head_size(name) + name + head_size(value) + value;
}

static void add_label(struct buf *out, struct bytes name, struct bytes value)
{
    add_head(out, 1, label_size(name.size, value.size));
    add_head(out, 1, name.size);
    buf_add(out, name.data, name.size);
    add_head(out, 2, value.size);
    buf_add(out, value.data, value.size);
}

/* Protobuf strings are UTF-8: invalid bytes become U+FFFD, as on /metrics. */
static void add_label_text(struct buf *out, const char *name, const char *value)
{
    struct bytes rest = bytes_of(value);
    if (utf8_valid(rest)) {
        add_label(out, bytes_of(name), rest);
        return;
    }
    struct buf valid;
    buf_init(&valid, LABEL_BYTES_MAX);
    while (rest.size) {
        uint32_t code;
        size_t size = utf8_next(rest, &code);
        if (size)
            buf_add(&valid, rest.data, size);
        else
            buf_add_text(&valid, "\xef\xbf\xbd");
        size = size ? size : 1;
        rest = (struct bytes){ rest.data + size, rest.size - size };
    }
    add_label(out, bytes_of(name), (struct bytes){ buf_text(&valid), valid.size });
    buf_clear(&valid);
}

struct labels {
    struct remote_write_label list[REMOTE_WRITE_LABELS_MAX + 8];
    size_t count;
};

/* Inserts in sorted order. The first value of a name wins; an empty value is skipped. */
static void insert_label(struct labels *labels, const char *name, const char *value)
{
    size_t at = 0;
    if (!value || !*value || labels->count == sizeof labels->list / sizeof *labels->list)
        return;
    while (at < labels->count && strcmp(labels->list[at].name, name) < 0)
        at++;
    if (at < labels->count && strcmp(labels->list[at].name, name) == 0)
        return;
    memmove(&labels->list[at + 1], &labels->list[at], (labels->count - at) * sizeof *labels->list);
    labels->list[at] = (struct remote_write_label){ name, value };
    labels->count++;
}

static void finish_labels(struct remote_write *write, struct labels *labels)
{
    for (size_t i = 0; i < write->fixed_count; i++)
        insert_label(labels, write->fixed[i].name, write->fixed[i].value);
    buf_reset(&write->labels);
    for (size_t i = 0; i < labels->count; i++)
        add_label_text(&write->labels, labels->list[i].name, labels->list[i].value);
    if (write->labels.failed)
        write->out->failed = true;
}

static size_t encode_sample(uint8_t *to, uint64_t bits, int64_t time_ms)
{
    to[0] = 1 << 3 | 1;
    for (unsigned i = 0; i < 8; i++) /* little-endian on every host */
        to[1 + i] = (uint8_t)(bits >> 8 * i);
    to[9] = 2 << 3;
    return 10 + encode_varint(to + 10, (uint64_t)time_ms);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? NAN_BITS : bits;
}

/* name includes "_total" for counters. */
static void add_series(struct remote_write *write, struct bytes name, const struct points *points)
{
    static const char name_label[] = "__name__"; /* sorts before all others, which start with lower-case letters */
    uint8_t samples[2][SAMPLE_BODY_MAX];
    size_t sizes[2], count = 0;
    if (points->has_value) {
        sizes[count] = encode_sample(samples[count], bits_of(points->value), points->time_ms);
        count++;
    }
    if (points->has_marker) {
        sizes[count] = encode_sample(samples[count], STALE_BITS, points->time_ms + 1);
        count++;
    }
    size_t body = label_size(strlen(name_label), name.size);
    body += head_size(body) + write->labels.size;
    for (size_t i = 0; i < count; i++)
        body += head_size(sizes[i]) + sizes[i];
    add_head(write->out, 1, body);
    add_label(write->out, bytes_of(name_label), name);
    buf_add(write->out, write->labels.data, write->labels.size);
    for (size_t i = 0; i < count; i++) {
        add_head(write->out, 2, sizes[i]);
        buf_add(write->out, samples[i], sizes[i]);
    }
}

static double in_base_unit(const struct prom_name *name, enum metric_type type, union value value)
{
    double number = type == U64 ? (double)value.u64 : type == I64 ? (double)value.i64 : value.f64, divisor = 1;
    for (unsigned i = 0; i < name->decimals; i++)
        divisor *= 10;
    return number * (double)name->times / divisor;
}

static bool ends_now(const struct batch *batch, const char *job)
{
    for (size_t i = 0; job && i < batch->event_count; i++)
        if (batch->events[i].event == JOB_END && strcmp(batch->events[i].job->id, job) == 0)
            return true;
    return false;
}

/* A job that ends may have two last samples of a set: one that was read before, and what its cgroup reports at the end. */
static bool is_last_of_group(const struct batch *batch, const struct sample *sample)
{
    for (const struct sample *later = sample + 1; later < batch->samples + batch->count; later++)
        if (later->set == sample->set && later->job && strcmp(later->job, sample->job) == 0
            && strcmp(later->instance, sample->instance) == 0)
            return false;
    return true;
}

/* At the end also the series end that have no value in the last sample. */
static void add_value(struct remote_write *write, const struct sample *sample, size_t i, struct points points)
{
    const struct metric *metric = &sample->set->metrics[i];
    struct prom_name name;
    if ((!points.has_value && !points.has_marker) || !prom_name_of(sample->set, metric, &name))
        return;
    points.value = points.has_value ? in_base_unit(&name, metric->type, sample->values[i]) : 0;
    if (name.is_counter) {
        memcpy(name.text + name.size, "_total", sizeof "_total");
        name.size += strlen("_total");
    }
    add_series(write, (struct bytes){ name.text, name.size }, &points);
}

void remote_write_sample(struct remote_write *write, const struct batch *batch, const struct sample *sample)
{
    struct labels labels = { 0 };
    const struct job *job = batch_job(batch, sample);
    const char *what, *instance = prom_label_instance(sample->set, sample->instance, &what);
    struct remote_write_group *group = find_group(write, batch->host, sample->job, sample->set->name, sample->instance);
    struct points points = { .time_ms = next_time_ms(group, sample->time_ns) };
    bool ends = ends_now(batch, sample->job) && is_last_of_group(batch, sample);
    insert_label(&labels, "host", batch->host);
    insert_label(&labels, "job", sample->job);
    insert_label(&labels, "user", job ? job->user : NULL);
    insert_label(&labels, what, instance);
    finish_labels(write, &labels);
    for (size_t i = 0; i < sample->set->size; i++) {
        uint64_t bit = i < 64 ? 1ull << i : 0;
        points.has_value = !sample->known || sample->known[i];
        points.has_marker = ends && (points.has_value || group->written & bit);
        group->written |= points.has_value ? bit : 0;
        add_value(write, sample, i, points);
    }
    group->time_ms = points.time_ms + ends;
}

static void add_job_value(struct remote_write *write, const char *name, double value, struct points points)
{
    points.has_value = true;
    points.value = value;
    add_series(write, bytes_of(name), &points);
}

static void add_job(struct remote_write *write, const struct batch *batch, const struct job *job, uint64_t time_ns)
{
    struct remote_write_group *group = find_group(write, batch->host, job->id, "job", NULL);
    struct points points = { .time_ms = next_time_ms(group, time_ns), .has_marker = ends_now(batch, job->id) };
    struct labels labels = { 0 };
    if (!points.has_marker && (int64_t)(time_ns / NS_PER_MS) <= group->time_ms)
        return;
    group->time_ms = points.time_ms + points.has_marker;
    insert_label(&labels, "host", batch->host);
    insert_label(&labels, "job", job->id);
    insert_label(&labels, "user", job->user);
    finish_labels(write, &labels);
    if (job->start_ns)
        add_job_value(write, "sonde_job_start_time_seconds", (double)job->start_ns / 1e9, points);
    if (job->cores_milli)
        add_job_value(write, "sonde_job_cores_allowed", (double)job->cores_milli / 1e3, points);
    if (job->memory_bytes)
        add_job_value(write, "sonde_job_memory_limit_bytes", (double)job->memory_bytes, points);
    insert_label(&labels, "source", job->source);
    insert_label(&labels, "other_id", job->other_id);
    finish_labels(write, &labels);
    add_job_value(write, "sonde_job_info", 1, points);
}

void remote_write_jobs(struct remote_write *write, const struct batch *batch)
{
    uint64_t time_ns = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->samples[i].time_ns > time_ns)
            time_ns = batch->samples[i].time_ns;
    for (size_t i = 0; time_ns && i < batch->job_count; i++)
        add_job(write, batch, batch->jobs[i], time_ns);
}
