/* One walk over the columns, two spellings. */
#include "sinks/row_writer.h"

#include "base/shell.h"
#include "sinks/csv/csv.h"

#define WORDS_MAX (64u << 20)

void row_writer_begin(struct row_writer *rows, struct output *output, enum row_writer_format format, const char *const *names, size_t count)
{
    *rows = (struct row_writer){ .output = output, .format = format, .names = names, .count = count };
    json_init(&rows->json, &output->out);
    if (format == ROW_WRITER_JSON)
        json_begin_array(&rows->json);
    if (format != ROW_WRITER_CSV)
        return;
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(&output->out, ',');
        csv_add_text(&output->out, bytes_of(names[i]));
    }
    buf_add_text(&output->out, "\r\n");
}

static void before_field(struct row_writer *rows)
{
    if (rows->format == ROW_WRITER_CSV) {
        if (rows->at)
            buf_add_char(&rows->output->out, ',');
    } else if (rows->at == 0) {
        if (rows->format == ROW_WRITER_JSONL)
            json_init_line(&rows->json, &rows->output->out);
        json_begin_object(&rows->json);
    }
}

static void after_field(struct row_writer *rows)
{
    if (++rows->at < rows->count)
        return;
    rows->at = 0;
    if (rows->format == ROW_WRITER_CSV)
        buf_add_text(&rows->output->out, "\r\n");
    else
        json_end_object(&rows->json);
    if (rows->format == ROW_WRITER_JSONL)
        json_end(&rows->json);
}

void row_writer_string(struct row_writer *rows, struct bytes text)
{
    before_field(rows);
    if (rows->format == ROW_WRITER_CSV)
        csv_add_text(&rows->output->out, text);
    else
        json_field_bytes(&rows->json, rows->names[rows->at], text);
    after_field(rows);
}

void row_writer_u64(struct row_writer *rows, uint64_t value)
{
    before_field(rows);
    if (rows->format == ROW_WRITER_CSV)
        buf_add_u64(&rows->output->out, value);
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

void row_writer_arguments(struct row_writer *rows, struct bytes words)
{
    before_field(rows);
    if (rows->format == ROW_WRITER_CSV)
        add_shell_words(&rows->output->out, words);
    else
        json_field_words(&rows->json, rows->names[rows->at], words);
    after_field(rows);
}

void row_writer_missing(struct row_writer *rows)
{
    before_field(rows);
    after_field(rows);
}

enum err row_writer_write_if_large(struct row_writer *rows)
{
    return output_write_if_large(rows->output);
}

enum err row_writer_end(struct row_writer *rows)
{
    if (rows->format == ROW_WRITER_JSON) {
        json_end_array(&rows->json);
        json_end(&rows->json);
    }
    return output_flush(rows->output);
}
