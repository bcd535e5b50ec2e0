/* Samples as CSV. One row per value, so that any sets go into one file; or, with the setting "set", one row per sample of
 * that set and one column per metric. */
#include "sink/csv.h"

#include "base/text.h"
#include "base/utf8.h"
#include "sink/sink.h"
#include "sink/stream.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct csv_state {
    const char *path, *set;
    bool append;
    struct stream stream;
    bool titled;
};

static const struct setting csv_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct csv_state, path), "file to write; standard output when it is not given" },
    { "set", SETTING_TEXT, NULL, offsetof(struct csv_state, set), "only this set, with one column per metric" },
    { "append", SETTING_FLAG, "no", offsetof(struct csv_state, append),
      "add to the file, and write what was read together at once" },
    { 0 },
};

static bool is_separator(char c)
{
    return c == ',' || c == '"' || c == '\r' || c == '\n';
}

static bool needs_quotes(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (is_separator(text.data[i]))
            return true;
    return text.size && (text.data[0] == ' ' || text.data[text.size - 1] == ' ');
}

/* How many bytes from the beginning on can be added as they are. */
static size_t plain_size(struct bytes text)
{
    size_t size = 0;
    while (size < text.size && text.data[size] > 0 && text.data[size] != '"')
        size++;
    return size;
}

static size_t add_character(struct buf *out, struct bytes text)
{
    uint32_t code;
    size_t size = utf8_next(text, &code);
    if (size == 0 || code == 0) {
        buf_printf(out, "\\x%02x", (unsigned char)text.data[0]);
        return 1;
    }
    if (code == '"')
        buf_add_char(out, '"');
    buf_add(out, text.data, size);
    return size;
}

void csv_add_text(struct buf *out, struct bytes text)
{
    bool quoted = needs_quotes(text);
    if (quoted)
        buf_add_char(out, '"');
    while (text.size) {
        size_t taken = plain_size(text);
        buf_add(out, text.data, taken);
        if (taken < text.size)
            taken += add_character(out, (struct bytes){ text.data + taken, text.size - taken });
        text = (struct bytes){ text.data + taken, text.size - taken };
    }
    if (quoted)
        buf_add_char(out, '"');
}

void csv_add_value(struct buf *out, enum metric_type type, union value value)
{
    switch (type) {
    case U64: buf_add_u64(out, value.u64); break;
    case I64: buf_printf(out, "%" PRId64, value.i64); break;
    case F64:
        if (isfinite(value.f64))
            buf_add_text(out, text_f64(value.f64).s);
        break;
    }
}

static void add_end(struct buf *out)
{
    buf_add_text(out, "\r\n");
}

/* "time_ns,host,job," of a sample. */
static void add_origin(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    buf_add_u64(out, sample->time_ns);
    buf_add_char(out, ',');
    csv_add_text(out, bytes_of(batch->host));
    buf_add_char(out, ',');
    csv_add_text(out, bytes_of(sample->job));
    buf_add_char(out, ',');
}

static bool is_known(const struct sample *sample, size_t i)
{
    return !sample->known || sample->known[i];
}

static void add_long(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    for (size_t i = 0; i < sample->set->size; i++) {
        const struct metric *metric = &sample->set->metrics[i];
        if (!is_known(sample, i))
            continue;
        add_origin(out, batch, sample);
        csv_add_text(out, bytes_of(sample->set->name));
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(sample->instance));
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(metric->name));
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(metric->unit));
        buf_add_char(out, ',');
        csv_add_value(out, metric->type, sample->values[i]);
        add_end(out);
    }
}

static void add_wide_titles(struct buf *out, const struct set *set)
{
    buf_add_text(out, "time_ns,host,job,instance");
    for (size_t i = 0; i < set->size; i++) {
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(set->metrics[i].name));
    }
    add_end(out);
}

static void add_wide(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    add_origin(out, batch, sample);
    csv_add_text(out, bytes_of(sample->instance));
    for (size_t i = 0; i < sample->set->size; i++) {
        buf_add_char(out, ',');
        if (is_known(sample, i))
            csv_add_value(out, sample->set->metrics[i].type, sample->values[i]);
    }
    add_end(out);
}

static void add_sample(struct csv_state *s, const struct batch *batch, const struct sample *sample)
{
    struct buf *out = &s->stream.out;
    if (!s->set) {
        add_long(out, batch, sample);
        return;
    }
    if (strcmp(sample->set->name, s->set) != 0)
        return;
    if (!s->titled)
        add_wide_titles(out, sample->set);
    s->titled = true;
    add_wide(out, batch, sample);
}

static enum err csv_open(void *state)
{
    struct csv_state *s = state;
    bool is_new = true;
    enum err err = s->append ? stream_append(&s->stream, s->path, &is_new) : stream_open(&s->stream, s->path);
    s->titled = !is_new;
    if (!err && !s->set && is_new)
        buf_add_text(&s->stream.out, "time_ns,host,job,set,instance,metric,unit,value\r\n");
    return err;
}

static enum err csv_write(void *state, const struct batch *batch)
{
    struct csv_state *s = state;
    enum err err = stream_is_stuck(&s->stream) ? stream_push(&s->stream) : OK;
    if (!err && stream_is_stuck(&s->stream))
        return AGAIN;
    for (size_t i = 0; i < batch->count && !err; i++) {
        add_sample(s, batch, &batch->samples[i]);
        err = stream_pass(&s->stream);
    }
    return err || !s->append ? err : stream_push(&s->stream);
}

static enum err csv_flush(void *state, uint64_t deadline_ns)
{
    (void)deadline_ns; /* a file does not keep us waiting */
    return stream_flush(&((struct csv_state *)state)->stream);
}

static void csv_close(void *state)
{
    stream_close(&((struct csv_state *)state)->stream);
}

const struct sink sink_csv = {
    .name = "csv",
    .about = "comma separated values (RFC 4180) in a file or on standard output",
    .settings = csv_settings,
    .state_size = sizeof(struct csv_state),
    .open = csv_open,
    .write = csv_write,
    .flush = csv_flush,
    .close = csv_close,
};
