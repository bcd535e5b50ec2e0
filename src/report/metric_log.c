/* One writer for all formats. In a file, the end of the document follows each sample and is overwritten by the next; in
 * a pipe, it is written at the end. */
#include "report/metric_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLE_MAX (512u << 20)

static const char *beginning(const struct metric_log *log)
{
    return log->format == METRIC_JSON ? "[" : "";
}

static const char *ending(const struct metric_log *log)
{
    if (log->format == METRIC_JSON)
        return "]\n";
    return log->format == METRIC_YAML && log->samples == 0 ? "[]\n" : "";
}

static enum err write_at(const struct metric_log *log, const char *data, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t part = log->is_file ? pwrite(log->fd, data, size, (off_t)offset) : write(log->fd, data, size);
        if (part < 0 && errno != EINTR)
            return errno == EPIPE ? GONE : err_from_errno(errno);
        size_t written = part > 0 ? (size_t)part : 0;
        data += written;
        size -= written;
        offset += written;
    }
    return OK;
}

/* Writes the end of the document after the valid part, and truncates what a failed write left. */
static enum err close_document(const struct metric_log *log)
{
    struct bytes end = bytes_of(ending(log));
    enum err err = write_at(log, end.data, end.size, log->whole);
    if (log->is_file && ftruncate(log->fd, (off_t)(log->whole + end.size)) && !err)
        err = err_from_errno(errno);
    return err;
}

/* Writes log->out and the end of the document in one write. On error the document is restored. */
static enum err write_out(struct metric_log *log)
{
    size_t size = log->out.size;
    if (log->is_file)
        buf_add_text(&log->out, ending(log));
    enum err err = buf_err(&log->out);
    if (!err)
        err = write_at(log, log->out.data, log->out.size, log->whole);
    if (!err)
        log->whole += size;
    else if (log->is_file)
        (void)close_document(log);
    buf_reset(&log->out);
    return err;
}

enum err metric_log_open(struct metric_log *log, const char *path, enum metric_format format, enum metric_columns columns)
{
    struct stat status;
    bool is_stdout = !path || (path[0] == '-' && !path[1]);
    *log = (struct metric_log){ .fd = STDOUT_FILENO, .format = format, .columns = columns };
    buf_init(&log->out, SAMPLE_MAX);
    if (!is_stdout) {
        log->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        log->is_owned = log->fd >= 0;
    }
    if (log->fd < 0)
        return err_from_errno(errno);
    log->is_file = log->is_owned && fstat(log->fd, &status) == 0 && S_ISREG(status.st_mode);
    log->terminal = terminal_of(log->fd);
    if (log->is_file) {
        log->terminal.width = METRIC_NO_WIDTH;
        log->terminal.colour = false;
    }
    buf_add_text(&log->out, beginning(log));
    return write_out(log);
}

static void add_items(struct metric_log *log, const struct metric_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct metric_item *item = &list->items[i];
        if (log->format == METRIC_JSON) {
            buf_add_text(&log->out, i ? ", " : "");
            metric_print_json(&log->out, item, log->columns);
        } else if (log->format == METRIC_YAML) {
            buf_add_text(&log->out, i ? "  - " : "- - ");
            metric_print_yaml(&log->out, item, log->columns, 4);
        } else if (log->format == METRIC_TXT) {
            metric_print_txt(&log->out, item, log->columns);
        } else {
            metric_print_md(&log->out, item, log->columns, &log->terminal);
        }
    }
}

enum err metric_log_add(struct metric_log *log, const struct metric_list *list)
{
    bool is_json = log->format == METRIC_JSON;
    if (!list->count)
        return OK;
    if (is_json)
        buf_add_text(&log->out, log->samples ? ",[" : "[");
    else if (log->format == METRIC_TXT && !log->samples)
        metric_print_txt_title(&log->out, log->columns);
    add_items(log, list);
    if (is_json)
        buf_add_char(&log->out, ']');
    log->samples++;
    enum err err = write_out(log);
    log->samples -= err != OK;
    return err;
}

enum err metric_log_close(struct metric_log *log)
{
    enum err err = log->fd < 0 || log->is_file ? OK : close_document(log);
    if (log->is_owned && close(log->fd) && !err)
        err = err_from_errno(errno);
    log->fd = -1;
    buf_clear(&log->out);
    return err;
}
