/* The sink `json`: an array with an object per sample, or with lines=yes an object per line. A missing value has no
 * key. The first flush ends the array, so nothing can be written after it. */
#include "sinks/sink.h"

#include "net/json.h"
#include "sinks/json_value.h"
#include "sinks/output.h"
#include "sinks/writable.h"

struct json_state {
    const char *path;
    bool lines, append;
    struct output output;
    struct json json;
    bool ended;
    char message[512];
};

static const struct setting json_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct json_state, path), "output file; default: standard output" },
    { "lines", SETTING_FLAG, "no", offsetof(struct json_state, lines), "one object per line instead of an array" },
    { "append", SETTING_FLAG, "no", offsetof(struct json_state, append),
      "append lines to the file, and write each batch immediately" },
    { 0 },
};

static enum err sink_json_check(void *state)
{
    struct json_state *s = state;
    return writable_check(s->path, WRITABLE_FILE, s->message, sizeof s->message);
}

static enum err sink_json_open(void *state)
{
    struct json_state *s = state;
    bool is_new;
    s->lines = s->lines || s->append; /* nothing can follow an array */
    enum err err = s->append ? output_append(&s->output, s->path, &is_new) : output_open(&s->output, s->path);
    if (err)
        return err;
    json_init(&s->json, &s->output.out);
    if (!s->lines)
        json_begin_array(&s->json);
    return OK;
}

static void add_sample(struct json *json, const struct batch *batch, const struct sample *sample)
{
    json_begin_object(json);
    json_field_u64(json, "time_ns", sample->time_ns);
    if (batch->host)
        json_field_text(json, "host", batch->host);
    if (sample->job)
        json_field_text(json, "job", sample->job);
    json_field_text(json, "set", sample->set->name);
    json_field_text(json, "instance", sample->instance);
    json_key(json, "values");
    json_begin_object(json);
    for (size_t i = 0; i < sample->set->size; i++)
        if (!sample->known || sample->known[i])
            json_value_add(json, &sample->set->metrics[i], sample->values[i]);
    json_end_object(json);
    json_end_object(json);
}

static enum err sink_json_write(void *state, const struct batch *batch)
{
    struct json_state *s = state;
    enum err err = output_is_stuck(&s->output) ? output_write(&s->output) : OK;
    if (!err && output_is_stuck(&s->output))
        return AGAIN;
    if (!err)
        err = output_begin_batch(&s->output, batch->position);
    for (size_t i = 0; i < batch->count && !err; i++) {
        if (s->lines)
            json_init_line(&s->json, &s->output.out);
        add_sample(&s->json, batch, &batch->samples[i]);
        if (s->lines)
            json_end(&s->json);
        err = output_write_if_large(&s->output);
    }
    return err || !s->append ? err : output_write(&s->output);
}

static enum err sink_json_flush(void *state, uint64_t deadline_ns)
{
    struct json_state *s = state;
    (void)deadline_ns; /* writing a file does not block for long */
    if (!s->lines && !s->ended) {
        json_end_array(&s->json);
        json_end(&s->json);
        s->ended = true;
    }
    return output_flush(&s->output);
}

static void sink_json_close(void *state)
{
    output_close(&((struct json_state *)state)->output);
}

static enum err sink_json_resume(void *state, uint64_t *position)
{
    *position = ((struct json_state *)state)->output.checkpoint.position;
    return OK;
}

static const char *sink_json_message(const void *state)
{
    return ((const struct json_state *)state)->message;
}

const struct sink sink_json = {
    .name = "json",
    .about = "an array of samples as JSON, or an object per line",
    .settings = json_settings,
    .state_size = sizeof(struct json_state),
    .check = sink_json_check,
    .message = sink_json_message,
    .open = sink_json_open,
    .write = sink_json_write,
    .flush = sink_json_flush,
    .close = sink_json_close,
    .resume = sink_json_resume,
};
