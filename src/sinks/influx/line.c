/* Commas, spaces and '=' in names and tags are escaped. Line breaks and backslashes cannot be, and become '_'. */
#include "sinks/influx/line.h"

#include "base/format.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_plain(char c)
{
    return c > ' ' && c < 0x7f && c != ',' && c != '=' && c != '\\';
}

static size_t add_odd(struct buf *out, struct bytes text)
{
    uint32_t code;
    size_t size = utf8_next(text, &code);
    if (!size) {
        buf_add_text(out, "\xef\xbf\xbd");
        return 1;
    }
    if (code == ',' || code == '=' || code == ' ') {
        buf_add_char(out, '\\');
        buf_add_char(out, (char)code);
    } else if (code < ' ' || code == 0x7f || code == '\\')
        buf_add_char(out, '_');
    else
        buf_add(out, text.data, size);
    return size;
}

static void add_name(struct buf *out, const char *name)
{
    struct bytes text = bytes_of(name);
    while (text.size) {
        size_t size = 0;
        while (size < text.size && is_plain(text.data[size]))
            size++;
        buf_add(out, text.data, size);
        if (size < text.size)
            size += add_odd(out, (struct bytes){ text.data + size, text.size - size });
        text = (struct bytes){ text.data + size, text.size - size };
    }
}

/* The protocol does not allow empty tags. */
static void add_tag(struct buf *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_add_char(out, ',');
    add_name(out, name);
    buf_add_char(out, '=');
    add_name(out, value);
}

static bool has_form(enum metric_type type, union value value)
{
    return type == F64 ? isfinite(value.f64) : type == I64 || value.u64 <= INT64_MAX;
}

static void add_number(struct buf *out, enum metric_type type, union value value)
{
    switch (type) {
    case U64: buf_add_u64(out, value.u64); break;
    case I64: buf_printf(out, "%" PRId64, value.i64); break;
    case F64: buf_add_text(out, format_f64(value.f64).s); return;
    }
    buf_add_char(out, 'i');
}

static bool add_fields(struct buf *out, const struct sample *sample)
{
    bool is_any = false;
    for (size_t i = 0; i < sample->set->size; i++) {
        const struct metric *metric = &sample->set->metrics[i];
        if ((sample->known && !sample->known[i]) || !has_form(metric->type, sample->values[i]))
            continue;
        buf_add_char(out, is_any ? ',' : ' ');
        add_name(out, metric->name);
        buf_add_char(out, '=');
        add_number(out, metric->type, sample->values[i]);
        is_any = true;
    }
    return is_any;
}

static void add_end(struct buf *out, uint64_t time_ns)
{
    buf_add_char(out, ' ');
    buf_add_u64(out, time_ns);
    buf_add_char(out, '\n');
}

void influx_line_sample(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    size_t before = out->size;
    const struct job *job = batch_job(batch, sample);
    add_name(out, sample->set->name);
    add_tag(out, "host", batch->host);
    add_tag(out, "job", sample->job);
    add_tag(out, "user", job ? job->user : NULL);
    add_tag(out, sample->set->instances ? sample->set->instances : "instance", sample->instance);
    if (add_fields(out, sample))
        add_end(out, sample->time_ns);
    else if (out->data && !out->failed) {
        out->size = before;
        out->data[before] = '\0';
    }
}

static uint64_t newest_of(const struct batch *batch)
{
    uint64_t newest_ns = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->samples[i].time_ns > newest_ns)
            newest_ns = batch->samples[i].time_ns;
    return newest_ns;
}

void influx_line_event(struct buf *out, const struct batch *batch, const struct batch_event *event)
{
    static const char *const names[] = { [JOB_BEGIN] = "begin", [JOB_CHANGE] = "change", [JOB_END] = "end" };
    const struct job *job = event->job;
    uint64_t time_ns = event->event == JOB_BEGIN ? job->start_ns : event->event == JOB_END ? job->end_ns : 0;
    buf_add_text(out, "job_event");
    add_tag(out, "event", names[event->event]);
    add_tag(out, "host", batch->host);
    add_tag(out, "job", job->id);
    add_tag(out, "user", job->user);
    buf_add_text(out, " start_ns=");
    buf_add_u64(out, job->start_ns);
    buf_add_char(out, 'i');
    add_end(out, time_ns ? time_ns : newest_of(batch));
}

void influx_line_gap(struct buf *out, const struct batch *batch, const struct batch_gap *gap)
{
    buf_add_text(out, "gap");
    add_tag(out, "host", batch->host);
    add_tag(out, "reason", gap->reason);
    buf_add_text(out, " batches=");
    buf_add_u64(out, gap->batches);
    buf_add_char(out, 'i');
    if (gap->from_ns)
        buf_printf(out, ",from_ns=%" PRIu64 "i", gap->from_ns);
    if (gap->to_ns)
        buf_printf(out, ",to_ns=%" PRIu64 "i", gap->to_ns);
    add_end(out, gap->to_ns ? gap->to_ns : newest_of(batch));
}
