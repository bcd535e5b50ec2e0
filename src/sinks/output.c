/* One buffer, written in large chunks. */
#include "sinks/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (64u << 10)
#define STUCK_BYTES (1u << 20)
#define PATIENCE_MS 1000 /* with a slow reader, in the last flush */
#define BUFFER_MAX (1u << 30) /* between two calls of output_write_if_large */

static enum err open_as(struct output *output, const char *path, int flags)
{
    *output = (struct output){ .fd = STDOUT_FILENO };
    buf_init(&output->out, BUFFER_MAX);
    checkpoint_init(&output->checkpoint);
    if (!path || strcmp(path, "-") == 0)
        return OK;
    output->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (output->fd < 0)
        return err_from_errno(errno);
    output->owned = true;
    return OK;
}

enum err output_open(struct output *output, const char *path)
{
    return open_as(output, path, O_TRUNC);
}

enum err output_append(struct output *output, const char *path, bool *is_new)
{
    struct stat facts;
    enum err err = open_as(output, path, O_APPEND);
    bool is_known = !err && fstat(output->fd, &facts) == 0;
    output->is_pipe = is_known && !S_ISREG(facts.st_mode);
    output->is_file = is_known && !output->is_pipe && output->owned;
    if (output->is_file)
        err = checkpoint_open(&output->checkpoint, path, output->fd);
    *is_new = !is_known || fstat(output->fd, &facts) != 0 || facts.st_size == 0;
    if (err)
        output_close(output);
    return err;
}

enum err output_begin_batch(struct output *output, uint64_t position)
{
    struct stat facts;
    output->position = position;
    if (!output->is_file)
        return OK;
    if (fstat(output->fd, &facts) != 0)
        return err_from_errno(errno);
    output->batch_start = (uint64_t)facts.st_size;
    return position && !checkpoint_exists(&output->checkpoint) ? checkpoint_save(&output->checkpoint, output->fd, 0) : OK;
}

/* Removes a partly written batch from the file. */
static void undo_batch(const struct output *output)
{
    if (output->is_file && ftruncate(output->fd, (off_t)output->batch_start) != 0)
        return; /* nothing better can be done; the next batch follows it */
}

bool output_is_stuck(const struct output *output)
{
    return output->is_pipe && output->out.size >= STUCK_BYTES;
}

/* How many bytes can be written within wait_ms. */
static size_t writable_size(const struct output *output, size_t size, int wait_ms)
{
    struct pollfd one = { .fd = output->fd, .events = POLLOUT };
    if (!output->is_pipe)
        return size;
    if (poll(&one, 1, wait_ms) == 0)
        return 0;
    return size < PIPE_BUF ? size : PIPE_BUF;
}

static void drop_written(struct buf *out, size_t done)
{
    if (done)
        memmove(out->data, out->data + done, out->size - done);
    out->size -= done;
}

static enum err write_all(struct output *output, int wait_ms)
{
    size_t done = 0;
    enum err err = buf_err(&output->out);
    while (!err && done < output->out.size) {
        size_t chunk = writable_size(output, output->out.size - done, wait_ms);
        if (!chunk) {
            drop_written(&output->out, done);
            return wait_ms ? AGAIN : OK;
        }
        ssize_t size = write(output->fd, output->out.data + done, chunk);
        if (size >= 0)
            done += (size_t)size;
        else if (errno == EPIPE)
            err = GONE;
        else if (errno != EINTR)
            err = err_from_errno(errno);
    }
    buf_reset(&output->out);
    if (err)
        undo_batch(output);
    return err;
}

enum err output_write(struct output *output)
{
    return write_all(output, 0);
}

enum err output_write_if_large(struct output *output)
{
    return output->out.size < CHUNK && !output->out.failed ? OK : write_all(output, 0);
}

enum err output_flush(struct output *output)
{
    enum err err = write_all(output, PATIENCE_MS);
    if (err)
        return err;
    /* pipes, terminals and /dev/null cannot be synced */
    if (fsync(output->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        return err_from_errno(errno);
    if (output->is_file && output->position)
        err = checkpoint_save(&output->checkpoint, output->fd, output->position);
    if (!err)
        output->flushed = output->position;
    return err;
}

void output_close(struct output *output)
{
    if (output->owned)
        close(output->fd);
    output->owned = output->is_file = false;
    checkpoint_clear(&output->checkpoint);
    buf_clear(&output->out);
}
