/* One buffer, written in large pieces. */
#include "sinks/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (64u << 10)
#define STUCK (1u << 20)
#define PATIENCE_MS 1000 /* with a slow reader, at the end */
#define MOST (1u << 30) /* of what one caller adds between two calls of stream_pass */

static enum err open_as(struct stream *stream, const char *path, int flags)
{
    *stream = (struct stream){ .fd = STDOUT_FILENO };
    buf_init(&stream->out, MOST);
    mark_init(&stream->mark);
    if (!path || strcmp(path, "-") == 0)
        return OK;
    stream->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (stream->fd < 0)
        return err_from_errno(errno);
    stream->owned = true;
    return OK;
}

enum err stream_open(struct stream *stream, const char *path)
{
    return open_as(stream, path, O_TRUNC);
}

enum err stream_append(struct stream *stream, const char *path, bool *is_new)
{
    struct stat facts;
    enum err err = open_as(stream, path, O_APPEND);
    bool is_known = !err && fstat(stream->fd, &facts) == 0;
    stream->wary = is_known && !S_ISREG(facts.st_mode);
    stream->is_file = is_known && !stream->wary && stream->owned;
    if (stream->is_file)
        err = mark_open(&stream->mark, path, stream->fd);
    *is_new = !is_known || fstat(stream->fd, &facts) != 0 || facts.st_size == 0;
    if (err)
        stream_close(stream);
    return err;
}

enum err stream_begin(struct stream *stream, uint64_t position)
{
    struct stat facts;
    stream->position = position;
    if (!stream->is_file)
        return OK;
    if (fstat(stream->fd, &facts) != 0)
        return err_from_errno(errno);
    stream->whole = (uint64_t)facts.st_size;
    return position && !mark_is_there(&stream->mark) ? mark_save(&stream->mark, stream->fd, 0) : OK;
}

/* Half a batch, or half a line, is worse than none. */
static void take_back(const struct stream *stream)
{
    if (stream->is_file && ftruncate(stream->fd, (off_t)stream->whole) != 0)
        return; /* the next batch stands behind it; there is nothing better */
}

bool stream_is_stuck(const struct stream *stream)
{
    return stream->wary && stream->out.size >= STUCK;
}

/* How much may be written without waiting longer than that: 0 is nothing. */
static size_t allowed(const struct stream *stream, size_t size, int wait_ms)
{
    struct pollfd one = { .fd = stream->fd, .events = POLLOUT };
    if (!stream->wary)
        return size;
    if (poll(&one, 1, wait_ms) == 0)
        return 0;
    return size < PIPE_BUF ? size : PIPE_BUF;
}

static void keep_rest(struct buf *out, size_t done)
{
    if (done)
        memmove(out->data, out->data + done, out->size - done);
    out->size -= done;
}

static enum err write_all(struct stream *stream, int wait_ms)
{
    size_t done = 0;
    enum err err = buf_err(&stream->out);
    while (!err && done < stream->out.size) {
        size_t piece = allowed(stream, stream->out.size - done, wait_ms);
        if (!piece) {
            keep_rest(&stream->out, done);
            return wait_ms ? AGAIN : OK;
        }
        ssize_t size = write(stream->fd, stream->out.data + done, piece);
        if (size >= 0)
            done += (size_t)size;
        else if (errno == EPIPE)
            err = GONE;
        else if (errno != EINTR)
            err = err_from_errno(errno);
    }
    buf_reset(&stream->out);
    if (err)
        take_back(stream);
    return err;
}

enum err stream_push(struct stream *stream)
{
    return write_all(stream, 0);
}

enum err stream_pass(struct stream *stream)
{
    return stream->out.size < PIECE && !stream->out.failed ? OK : write_all(stream, 0);
}

enum err stream_flush(struct stream *stream)
{
    enum err err = write_all(stream, PATIENCE_MS);
    if (err)
        return err;
    /* pipes, terminals and /dev/null have no disk behind them */
    if (fsync(stream->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        return err_from_errno(errno);
    if (stream->is_file && stream->position)
        err = mark_save(&stream->mark, stream->fd, stream->position);
    if (!err)
        stream->flushed = stream->position;
    return err;
}

void stream_close(struct stream *stream)
{
    if (stream->owned)
        close(stream->fd);
    stream->owned = stream->is_file = false;
    mark_clear(&stream->mark);
    buf_clear(&stream->out);
}
