/* The log has a line per file changed within some seconds: it is read completely and replayed from its end. */
#include "sinks/csv/undo_log.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_NAME ".sonde-undo"
#define POSITION_NAME ".sonde-position"
#define LOG_MAX (256u << 20)
#define LINE_MAX_SIZE 4096

static enum err read_all(int dir_fd, const char *name, struct buf *text)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ABSENT : err_from_errno(errno);
    ssize_t got = 1;
    while (got > 0) {
        char *capacity = buf_reserve(text, 65536);
        got = capacity ? read(fd, capacity, 65536) : -1;
        text->size += got > 0 ? (size_t)got : 0;
    }
    enum err err = got < 0 ? (buf_err(text) ? buf_err(text) : err_from_errno(errno)) : OK;
    close(fd);
    if (text->data)
        text->data[text->size] = '\0';
    return err;
}

static enum err cut(int dir_fd, const char *path, uint64_t size)
{
    if (size == 0)
        return unlinkat(dir_fd, path, 0) == 0 || errno == ENOENT ? OK : err_from_errno(errno);
    int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? OK : err_from_errno(errno);
    struct stat facts;
    bool longer = fstat(fd, &facts) == 0 && (uint64_t)facts.st_size > size;
    enum err err = !longer || ftruncate(fd, (off_t)size) == 0 ? OK : err_from_errno(errno);
    close(fd);
    return err;
}

static enum err undo_line(int dir_fd, char *line)
{
    if (line[0] == 'T') {
        char *end;
        uint64_t size = strtoull(line + 2, &end, 10);
        return *end == ' ' ? cut(dir_fd, end + 1, size) : OK;
    }
    char *blank = line[0] == 'R' ? strchr(line + 2, ' ') : NULL;
    if (!blank)
        return OK; /* truncated by the crash: its action was not started */
    *blank = '\0';
    return renameat(dir_fd, blank + 1, dir_fd, line + 2) == 0 || errno == ENOENT ? OK : err_from_errno(errno);
}

/* False: the log belongs to an older position, because of a crash between commit and truncation: its changes are
 * committed. */
static bool belongs_to(const struct buf *log, uint64_t position)
{
    return log->size > 2 && log->data[0] == 'B' && strtoull(log->data + 2, NULL, 10) == position;
}

static enum err undo_log(int dir_fd, struct buf *log, uint64_t position)
{
    enum err err = OK;
    size_t end = belongs_to(log, position) ? log->size : 0;
    while (end && log->data[end - 1] != '\n') /* an incomplete line: its action was not started */
        end--;
    while (end && !err) {
        log->data[--end] = '\0';
        while (end && log->data[end - 1] != '\n')
            end--;
        err = undo_line(dir_fd, log->data + end);
    }
    return err;
}

static enum err read_position(int dir_fd, uint64_t *position)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    enum err err = read_all(dir_fd, POSITION_NAME, &text);
    *position = err ? 0 : strtoull(buf_text(&text), NULL, 10);
    buf_clear(&text);
    return err == ABSENT ? OK : err;
}

enum err csv_undo_log_replay(int dir_fd, uint64_t *position)
{
    struct buf log;
    enum err err = read_position(dir_fd, position);
    buf_init(&log, LOG_MAX);
    if (!err)
        err = read_all(dir_fd, LOG_NAME, &log);
    if (!err)
        err = undo_log(dir_fd, &log, *position);
    if (!err && unlinkat(dir_fd, LOG_NAME, 0) != 0)
        err = err_from_errno(errno);
    buf_clear(&log);
    return err == ABSENT ? OK : err;
}

static enum err add_line(int fd, const char *line, int size)
{
    if (size <= 0 || size >= LINE_MAX_SIZE)
        return USAGE;
    struct stat facts;
    bool is_known = fstat(fd, &facts) == 0;
    ssize_t written = write(fd, line, (size_t)size);
    if (written == size)
        return OK;
    enum err err = written < 0 ? err_from_errno(errno) : FULL;
    if (is_known && written > 0)
        (void)!ftruncate(fd, facts.st_size);
    return err;
}

static enum err add_base(int fd, uint64_t position)
{
    char line[64];
    return add_line(fd, line, snprintf(line, sizeof line, "B %" PRIu64 "\n", position));
}

enum err csv_undo_log_open(int dir_fd, uint64_t position, int *fd)
{
    *fd = openat(dir_fd, LOG_NAME, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return *fd < 0 ? err_from_errno(errno) : add_base(*fd, position);
}

enum err csv_undo_log_add_size(int fd, const char *path, uint64_t size)
{
    char line[LINE_MAX_SIZE];
    return add_line(fd, line, snprintf(line, sizeof line, "T %" PRIu64 " %s\n", size, path));
}

enum err csv_undo_log_add_rename(int fd, const char *from, const char *to)
{
    char line[LINE_MAX_SIZE];
    return add_line(fd, line, snprintf(line, sizeof line, "R %s %s\n", from, to));
}

static enum err save_position(int dir_fd, uint64_t position)
{
    static const char new_name[] = POSITION_NAME ".new";
    char text[32];
    int size = snprintf(text, sizeof text, "%" PRIu64 "\n", position);
    int fd = openat(dir_fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_from_errno(errno);
    ssize_t written = write(fd, text, (size_t)size);
    enum err err = written == size && fdatasync(fd) == 0 ? OK : written >= 0 && written < size ? FULL : err_from_errno(errno);
    close(fd);
    if (!err && renameat(dir_fd, new_name, dir_fd, POSITION_NAME) != 0)
        err = err_from_errno(errno);
    return err;
}

/* Once the position is stored, the log belongs to an older one and is ignored. */
enum err csv_undo_log_commit(int dir_fd, int fd, uint64_t position)
{
    enum err err = save_position(dir_fd, position);
    if (!err && ftruncate(fd, 0) != 0)
        err = err_from_errno(errno);
    return err ? err : add_base(fd, position);
}
