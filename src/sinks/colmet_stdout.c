/* The sink `colmet-stdout`: rows of Colmet's backends, printed as by Colmet's collector with
 * --enable-stdout-backend. A missing value has no line. */
#include "compat/colmet/rows.h"
#include "sinks/sink.h"
#include "sinks/output.h"
#include "sinks/writable.h"

#include <string.h>
#include <time.h>

struct colmet_stdout_state {
    const char *path;
    struct output output;
    struct colmet_rows *rows;
    char message[512];
};

static const struct setting colmet_stdout_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct colmet_stdout_state, path), "output file; default: standard output" },
    { 0 },
};

/* How values of a unit are scaled and printed. */
struct unit_format {
    const char *unit;
    const char *letters; /* prefixes, from the one of the unit itself; '.': none */
    double step, limit; /* divide by step while the value exceeds limit */
    const char *tail;
};

static const struct unit_format unit_formats[] = {
    { "1", ".KMGT", 1000, 10000, "count" },     { "ticks", ".KMGT", 1000, 10000, "count" },
    { "B", ".KMGT", 1024, 10000, "bytes" },     { "kB", "KMGT", 1024, 10000, "bytes" },
    { "MiB", "MGT", 1024, 10000, "bytes" },     { "ns", "num.", 1000, 1000, "seconds" },
    { "us", "um.", 1000, 1000, "seconds" },     { "s", ".", 1, 0, "seconds" },
    { "C", ".", 1, 0, "celsius" },              { "MB*us", ".KMGT", 1024, 10000, "bytes*seconds" },
    { "W", ".", 1, 0, "watts" },                { "%", ".", 1, 0, "percent" },
};

static void add_date(struct buf *out, uint64_t time_s)
{
    char text[64];
    struct tm date;
    time_t seconds = (time_t)time_s;
    if (localtime_r(&seconds, &date) && strftime(text, sizeof text, "%d/%m/%Y - %H:%M:%S", &date))
        buf_add_text(out, text);
}

static void add_value(struct buf *out, const struct colmet_column *column, union value value)
{
    const struct unit_format *format = &unit_formats[0];
    for (size_t i = 0; i < sizeof unit_formats / sizeof *unit_formats; i++)
        if (strcmp(unit_formats[i].unit, column->unit) == 0)
            format = &unit_formats[i];
    double number = column->type == COLMET_F32 ? value.f64 : column->type == COLMET_I64 ? (double)value.i64 : (double)value.u64;
    const char *letter = format->letters;
    for (; letter[1] && number > format->limit; letter++)
        number /= format->step;
    buf_printf(out, "%.0f", number);
    if (*letter != '.')
        buf_add_char(out, *letter);
    buf_printf(out, " (%s)", format->tail);
}

static int longest_name(const struct colmet_row *row)
{
    size_t longest = 0;
    for (size_t i = 0; i < row->backend->count; i++)
        if (row->known[i] && strlen(row->backend->columns[i].name) > longest)
            longest = strlen(row->backend->columns[i].name);
    return (int)longest;
}

static void add_row(struct buf *out, const struct colmet_row *row)
{
    int width = longest_name(row);
    buf_printf(out, "%llu  Job(%llu)/ %s -> Host(%s) -> {", (unsigned long long)row->time_s, (unsigned long long)row->job,
               row->backend->name, row->host);
    for (size_t i = 0; i < row->backend->count; i++) {
        const struct colmet_column *column = &row->backend->columns[i];
        if (!row->known[i])
            continue;
        buf_printf(out, "\n\t%*s : ", width, column->name);
        if (strcmp(column->name, "ac_btime") == 0)
            add_date(out, row->values[i].u64);
        else
            add_value(out, column, row->values[i]);
    }
    buf_add_text(out, "\n}\n");
}

static enum err stdout_check(void *state)
{
    struct colmet_stdout_state *s = state;
    return writable_check(s->path, WRITABLE_FILE, s->message, sizeof s->message);
}

static enum err stdout_open(void *state)
{
    struct colmet_stdout_state *s = state;
    bool is_new;
    enum err err = output_append(&s->output, s->path, &is_new);
    if (err)
        return err;
    err = colmet_rows_new(&s->rows);
    if (err)
        output_close(&s->output);
    return err;
}

static enum err stdout_write(void *state, const struct batch *batch)
{
    struct colmet_stdout_state *s = state;
    const struct colmet_row *rows;
    size_t count;
    enum err err = output_is_stuck(&s->output) ? output_write(&s->output) : OK;
    if (!err && output_is_stuck(&s->output))
        return AGAIN;
    if (!err)
        err = colmet_rows_make(s->rows, batch, &rows, &count);
    for (size_t i = 0; !err && i < count; i++)
        add_row(&s->output.out, &rows[i]);
    return err ? err : output_write(&s->output);
}

static enum err stdout_flush(void *state, uint64_t deadline_ns)
{
    (void)deadline_ns;
    return output_flush(&((struct colmet_stdout_state *)state)->output);
}

static void stdout_close(void *state)
{
    struct colmet_stdout_state *s = state;
    output_close(&s->output);
    colmet_rows_free(&s->rows);
}

static const char *stdout_message(const void *state)
{
    return ((const struct colmet_stdout_state *)state)->message;
}

const struct sink sink_colmet_stdout = {
    .name = "colmet-stdout",
    .about = "rows of Colmet's backends, printed as by its collector",
    .settings = colmet_stdout_settings,
    .state_size = sizeof(struct colmet_stdout_state),
    .check = stdout_check,
    .open = stdout_open,
    .write = stdout_write,
    .flush = stdout_flush,
    .close = stdout_close,
    .message = stdout_message,
};
