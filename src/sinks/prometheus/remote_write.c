/* WriteRequest { repeated TimeSeries timeseries = 1 }
 * TimeSeries { repeated Label labels = 1, sorted by name; repeated Sample samples = 2 }
 * Label { string name = 1; string value = 2 }    Sample { double value = 1; int64 timestamp = 2, in ms } */
#include "sinks/prometheus/remote_write.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "model/prom_label.h"
#include "model/prom_name.h"

#include <math.h>
#include <string.h>

#define LABEL_BYTES_MAX (256u << 10)
#define STALE_BITS 0x7ff0000000000002ull /* Prometheus's staleness marker, a NaN that arithmetic never yields */
#define NAN_BITS 0x7ff8000000000001ull
#define VARINT_MAX 10
#define SAMPLE_BODY_MAX (1 + 8 + 1 + VARINT_MAX)

void remote_write_init(struct remote_write *write, struct buf *out)
{
    *write = (struct remote_write){ .out = out };
    buf_init(&write->labels, LABEL_BYTES_MAX);
}

void remote_write_clear(struct remote_write *write)
{
    buf_clear(&write->labels);
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
static void add_series(struct remote_write *write, struct bytes name, double value, uint64_t time_ns, bool is_last)
{
    static const char name_label[] = "__name__"; /* sorts before all others, which start with lower-case letters */
    uint8_t samples[2][SAMPLE_BODY_MAX];
    int64_t time_ms = (int64_t)(time_ns / NS_PER_MS);
    size_t sizes[2] = { encode_sample(samples[0], bits_of(value), time_ms), encode_sample(samples[1], STALE_BITS, time_ms + 1) };
    size_t body = label_size(strlen(name_label), name.size);
    body += head_size(body) + write->labels.size;
    for (int i = 0; i <= is_last; i++)
        body += head_size(sizes[i]) + sizes[i];
    add_head(write->out, 1, body);
    add_label(write->out, bytes_of(name_label), name);
    buf_add(write->out, write->labels.data, write->labels.size);
    for (int i = 0; i <= is_last; i++) {
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

void remote_write_sample(struct remote_write *write, const struct batch *batch, const struct sample *sample)
{
    struct labels labels = { 0 };
    const struct job *job = batch_job(batch, sample);
    const char *what, *instance = prom_label_instance(sample->set, sample->instance, &what);
    bool is_last = ends_now(batch, sample->job);
    insert_label(&labels, "host", batch->host);
    insert_label(&labels, "job", sample->job);
    insert_label(&labels, "user", job ? job->user : NULL);
    insert_label(&labels, what, instance);
    finish_labels(write, &labels);
    for (size_t i = 0; i < sample->set->size; i++) {
        const struct metric *metric = &sample->set->metrics[i];
        struct prom_name name;
        if ((sample->known && !sample->known[i]) || !prom_name_of(sample->set, metric, &name))
            continue;
        double value = in_base_unit(&name, metric->type, sample->values[i]);
        if (name.is_counter) {
            memcpy(name.text + name.size, "_total", sizeof "_total");
            name.size += strlen("_total");
        }
        add_series(write, (struct bytes){ name.text, name.size }, value, sample->time_ns, is_last);
    }
}

static void add_job(struct remote_write *write, const struct batch *batch, const struct job *job, uint64_t time_ns)
{
    bool is_last = ends_now(batch, job->id);
    struct labels labels = { 0 };
    insert_label(&labels, "host", batch->host);
    insert_label(&labels, "job", job->id);
    insert_label(&labels, "user", job->user);
    finish_labels(write, &labels);
    if (job->start_ns)
        add_series(write, bytes_of("sonde_job_start_time_seconds"), (double)job->start_ns / 1e9, time_ns, is_last);
    if (job->cores_milli)
        add_series(write, bytes_of("sonde_job_cores_allowed"), (double)job->cores_milli / 1e3, time_ns, is_last);
    if (job->memory_bytes)
        add_series(write, bytes_of("sonde_job_memory_limit_bytes"), (double)job->memory_bytes, time_ns, is_last);
    insert_label(&labels, "source", job->source);
    insert_label(&labels, "other_id", job->other_id);
    finish_labels(write, &labels);
    add_series(write, bytes_of("sonde_job_info"), 1, time_ns, is_last);
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
