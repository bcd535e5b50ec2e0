/* The sink `stdout`: readable lines for samples, job events and gaps, with units; or a JSON object per line. */
#include "net/json.h"
#include "base/format.h"
#include "sinks/csv/csv.h"
#include "sinks/json_value.h"
#include "sinks/sink.h"
#include "sinks/output.h"

#include <stdio.h>
#include <string.h>

struct stdout_state {
    const char *format;
    bool is_json;
    struct output output;
    char message[128];
};

static const struct setting stdout_settings[] = {
    { "format", SETTING_TEXT, "readable", offsetof(struct stdout_state, format), "readable, or json (one object per line)" },
    { 0 },
};

static enum err stdout_check(void *state)
{
    struct stdout_state *s = state;
    s->is_json = strcmp(s->format, "json") == 0;
    if (s->is_json || strcmp(s->format, "readable") == 0)
        return OK;
    snprintf(s->message, sizeof s->message, "invalid format '%.60s' (expected readable or json)", s->format);
    return USAGE;
}

static enum err stdout_open(void *state)
{
    struct stdout_state *s = state;
    bool is_new;
    enum err err = stdout_check(s);
    return err ? err : output_append(&s->output, "-", &is_new);
}

static void add_amount(struct buf *out, const struct metric *metric, union value value)
{
    if (metric->type != U64)
        csv_add_value(out, metric->type, value);
    else if (strcmp(metric->unit, "B") == 0)
        buf_add_text(out, format_bytes(value.u64).s);
    else if (strcmp(metric->unit, "KB") == 0)
        buf_add_text(out, format_bytes(value.u64 * 1024).s);
    else if (strcmp(metric->unit, "us") == 0)
        buf_add_text(out, format_duration(value.u64 * 1000).s);
    else if (strcmp(metric->unit, "ns") == 0)
        buf_add_text(out, format_duration(value.u64).s);
    else
        buf_add_text(out, format_count(value.u64).s);
}

static bool has_own_unit(const struct metric *metric)
{
    static const char *const written[] = { "1", "B", "KB", "us", "ns" };
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
        if (strcmp(metric->unit, written[i]) == 0)
            return metric->type != U64 && i > 0;
    return true;
}

/* "2026-11-16 03:29:01  vm  " */
static void add_when(struct buf *out, const struct batch *batch, uint64_t time_ns)
{
    buf_printf(out, "%s  %s  ", format_time(time_ns).s, batch->host ? batch->host : "here");
}

static void add_job(struct buf *out, const struct job *job, const char *id)
{
    buf_printf(out, "job %s", id);
    if (job && job->user[0])
        buf_printf(out, " (%s)", job->user);
}

static void add_readable(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    add_when(out, batch, sample->time_ns);
    if (sample->job) {
        add_job(out, batch_job(batch, sample), sample->job);
        buf_add_text(out, "  ");
    }
    buf_add_text(out, sample->set->name);
    if (sample->instance[0])
        buf_printf(out, " %s", sample->instance);
    const char *between = ":  ";
    for (size_t i = 0; i < sample->set->size; i++) {
        const struct metric *metric = &sample->set->metrics[i];
        if (sample->known && !sample->known[i])
            continue;
        buf_printf(out, "%s%s ", between, metric->name);
        add_amount(out, metric, sample->values[i]);
        if (has_own_unit(metric))
            buf_printf(out, " %s", metric->unit);
        between = ", ";
    }
    buf_add_char(out, '\n');
}

static void begin_line(struct json *json, struct buf *out, const struct batch *batch)
{
    json_init_line(json, out);
    json_begin_object(json);
    json_field_text(json, "host", batch->host ? batch->host : "");
}

static void end_line(struct json *json)
{
    json_end_object(json);
    json_end(json);
}

static void add_json(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    struct json json;
    const struct job *job = batch_job(batch, sample);
    begin_line(&json, out, batch);
    json_field_u64(&json, "time_ns", sample->time_ns);
    if (sample->job)
        json_field_text(&json, "job", sample->job);
    if (job && job->user[0])
        json_field_text(&json, "user", job->user);
    json_field_text(&json, "set", sample->set->name);
    if (sample->instance[0])
        json_field_text(&json, "instance", sample->instance);
    json_key(&json, "values");
    json_begin_object(&json);
    for (size_t i = 0; i < sample->set->size; i++)
        if (!sample->known || sample->known[i])
            json_value_add(&json, &sample->set->metrics[i], sample->values[i]);
    json_end_object(&json);
    end_line(&json);
}

static const char *const events[] = { [JOB_BEGIN] = "began", [JOB_CHANGE] = "changed", [JOB_END] = "ended" };

static void add_event(struct stdout_state *s, const struct batch *batch, const struct batch_event *event)
{
    const struct job *job = event->job;
    struct buf *out = &s->output.out;
    uint64_t time_ns = event->event == JOB_END && job->end_ns ? job->end_ns : job->start_ns;
    struct json json;
    if (!s->is_json) {
        add_when(out, batch, time_ns);
        add_job(out, job, job->id);
        buf_printf(out, " %s\n", events[event->event]);
        return;
    }
    begin_line(&json, out, batch);
    json_field_u64(&json, "time_ns", time_ns);
    json_field_text(&json, "job", job->id);
    json_field_text(&json, "user", job->user);
    json_field_text(&json, "event", events[event->event]);
    end_line(&json);
}

static void add_gap(struct stdout_state *s, const struct batch *batch, const struct batch_gap *gap)
{
    struct buf *out = &s->output.out;
    struct json json;
    if (!s->is_json) {
        add_when(out, batch, gap->from_ns);
        buf_printf(out, "%s batches missing up to %s: %s\n", format_count(gap->batches).s, format_time(gap->to_ns).s,
                   gap->reason ? gap->reason : "unknown reason");
        return;
    }
    begin_line(&json, out, batch);
    json_field_u64(&json, "missing_from_ns", gap->from_ns);
    json_field_u64(&json, "missing_to_ns", gap->to_ns);
    json_field_u64(&json, "missing_batches", gap->batches);
    json_field_text(&json, "reason", gap->reason ? gap->reason : "");
    end_line(&json);
}

static enum err stdout_write(void *state, const struct batch *batch)
{
    struct stdout_state *s = state;
    enum err err = output_is_stuck(&s->output) ? output_write(&s->output) : OK;
    if (!err && output_is_stuck(&s->output))
        return AGAIN;
    if (err)
        return err;
    for (size_t i = 0; i < batch->gap_count; i++)
        add_gap(s, batch, &batch->gaps[i]);
    for (size_t i = 0; i < batch->count; i++)
        (s->is_json ? add_json : add_readable)(&s->output.out, batch, &batch->samples[i]);
    for (size_t i = 0; i < batch->event_count; i++)
        add_event(s, batch, &batch->events[i]);
    return output_write(&s->output);
}

static enum err stdout_flush(void *state, uint64_t deadline_ns)
{
    (void)deadline_ns;
    return output_flush(&((struct stdout_state *)state)->output);
}

static void stdout_close(void *state)
{
    output_close(&((struct stdout_state *)state)->output);
}

static const char *stdout_message(const void *state)
{
    return ((const struct stdout_state *)state)->message;
}

const struct sink sink_stdout = {
    .name = "stdout",
    .about = "a line per sample on standard output, for people or as JSON",
    .settings = stdout_settings,
    .state_size = sizeof(struct stdout_state),
    .check = stdout_check,
    .open = stdout_open,
    .write = stdout_write,
    .flush = stdout_flush,
    .close = stdout_close,
    .message = stdout_message,
};
