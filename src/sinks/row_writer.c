/* One pass over the columns for both formats. */
#include "sinks/row_writer.h"

#include "base/shell.h"
#include "sinks/csv/csv.h"

#define ARGUMENTS_MAX (64u << 20)

void row_writer_begin(struct row_writer *writer, struct output *output, enum row_writer_format format,
                      const char *const *names, size_t count)
{
    *writer = (struct row_writer){ .output = output, .format = format, .names = names, .count = count };
    json_init(&writer->json, &output->out);
    if (format == ROW_WRITER_JSON)
        json_begin_array(&writer->json);
    if (format != ROW_WRITER_CSV)
        return;
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(&output->out, ',');
        csv_add_text(&output->out, bytes_of(names[i]));
    }
    buf_add_text(&output->out, "\r\n");
}

static void before_field(struct row_writer *writer)
{
    if (writer->format == ROW_WRITER_CSV) {
        if (writer->at)
            buf_add_char(&writer->output->out, ',');
    } else if (writer->at == 0) {
        if (writer->format == ROW_WRITER_JSONL)
            json_init_line(&writer->json, &writer->output->out);
        json_begin_object(&writer->json);
    }
}

static void after_field(struct row_writer *writer)
{
    if (++writer->at < writer->count)
        return;
    writer->at = 0;
    if (writer->format == ROW_WRITER_CSV)
        buf_add_text(&writer->output->out, "\r\n");
    else
        json_end_object(&writer->json);
    if (writer->format == ROW_WRITER_JSONL)
        json_end(&writer->json);
}

void row_writer_string(struct row_writer *writer, struct bytes text)
{
    before_field(writer);
    if (writer->format == ROW_WRITER_CSV)
        csv_add_text(&writer->output->out, text);
    else
        json_field_bytes(&writer->json, writer->names[writer->at], text);
    after_field(writer);
}

void row_writer_u64(struct row_writer *writer, uint64_t value)
{
    before_field(writer);
    if (writer->format == ROW_WRITER_CSV)
        buf_add_u64(&writer->output->out, value);
    else
        json_field_u64(&writer->json, writer->names[writer->at], value);
    after_field(writer);
}

static void add_shell_quoted(struct buf *out, struct bytes arguments)
{
    struct buf line;
    buf_init(&line, ARGUMENTS_MAX);
    shell_add_args(&line, arguments);
    csv_add_text(out, (struct bytes){ buf_text(&line), line.size });
    if (line.failed)
        out->failed = true;
    buf_clear(&line);
}

void row_writer_arguments(struct row_writer *writer, struct bytes arguments)
{
    before_field(writer);
    if (writer->format == ROW_WRITER_CSV)
        add_shell_quoted(&writer->output->out, arguments);
    else
        json_field_strings(&writer->json, writer->names[writer->at], arguments);
    after_field(writer);
}

void row_writer_missing(struct row_writer *writer)
{
    before_field(writer);
    after_field(writer);
}

enum err row_writer_write_if_large(struct row_writer *writer)
{
    return output_write_if_large(writer->output);
}

enum err row_writer_end(struct row_writer *writer)
{
    if (writer->format == ROW_WRITER_JSON) {
        json_end_array(&writer->json);
        json_end(&writer->json);
    }
    return output_flush(writer->output);
}
