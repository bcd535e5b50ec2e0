/* One walk over the columns, two spellings. */
#include "sinks/rows.h"

#include "base/shell.h"
#include "sinks/csv/csv.h"

#define WORDS_MAX (64u << 20)

void rows_begin(struct rows *rows, struct stream *stream, enum rows_format format, const char *const *names, size_t count)
{
    *rows = (struct rows){ .stream = stream, .format = format, .names = names, .count = count };
    json_init(&rows->json, &stream->out);
    if (format == ROWS_JSON)
        json_begin_array(&rows->json);
    if (format != ROWS_CSV)
        return;
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(&stream->out, ',');
        csv_add_text(&stream->out, bytes_of(names[i]));
    }
    buf_add_text(&stream->out, "\r\n");
}

static void before_field(struct rows *rows)
{
    if (rows->format == ROWS_CSV) {
        if (rows->at)
            buf_add_char(&rows->stream->out, ',');
    } else if (rows->at == 0) {
        if (rows->format == ROWS_JSONL)
            json_init_line(&rows->json, &rows->stream->out);
        json_begin_object(&rows->json);
    }
}

static void after_field(struct rows *rows)
{
    if (++rows->at < rows->count)
        return;
    rows->at = 0;
    if (rows->format == ROWS_CSV)
        buf_add_text(&rows->stream->out, "\r\n");
    else
        json_end_object(&rows->json);
    if (rows->format == ROWS_JSONL)
        json_end(&rows->json);
}

void rows_text(struct rows *rows, struct bytes text)
{
    before_field(rows);
    if (rows->format == ROWS_CSV)
        csv_add_text(&rows->stream->out, text);
    else
        json_field_bytes(&rows->json, rows->names[rows->at], text);
    after_field(rows);
}

void rows_u64(struct rows *rows, uint64_t value)
{
    before_field(rows);
    if (rows->format == ROWS_CSV)
        buf_add_u64(&rows->stream->out, value);
    else
        json_field_u64(&rows->json, rows->names[rows->at], value);
    after_field(rows);
}

static void add_shell_words(struct buf *out, struct bytes words)
{
    struct buf line;
    buf_init(&line, WORDS_MAX);
    shell_add_words(&line, words);
    csv_add_text(out, (struct bytes){ buf_text(&line), line.size });
    if (line.failed)
        out->failed = true;
    buf_clear(&line);
}

void rows_words(struct rows *rows, struct bytes words)
{
    before_field(rows);
    if (rows->format == ROWS_CSV)
        add_shell_words(&rows->stream->out, words);
    else
        json_field_words(&rows->json, rows->names[rows->at], words);
    after_field(rows);
}

void rows_absent(struct rows *rows)
{
    before_field(rows);
    after_field(rows);
}

enum err rows_pass(struct rows *rows)
{
    return stream_pass(rows->stream);
}

enum err rows_end(struct rows *rows)
{
    if (rows->format == ROWS_JSON) {
        json_end_array(&rows->json);
        json_end(&rows->json);
    }
    return stream_flush(rows->stream);
}
