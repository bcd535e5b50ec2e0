/* A list in the order of streams and of where the holes begin. A hole in a hole is one of the stream that fills it. */
#include "collector/seq_gaps.h"

#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX 512
#define FILE_MAX (64u << 20)

/* The same on every collector, so that a record that took two ways has one name at the top. */
static uint64_t derive(uint64_t stream, uint64_t from)
{
    uint64_t x = stream ^ from * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) | 1;
}

/* Where a hole of the stream that begins there is, or would be: behind all that come before it. */
static size_t place_of(const struct holes *holes, uint64_t stream, uint64_t from)
{
    size_t low = 0, high = holes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct hole *hole = &holes->list[middle];
        if (hole->stream < stream || (hole->stream == stream && hole->from <= from))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum err keep(struct holes *holes, const char *host, uint64_t stream, uint64_t from, uint64_t to)
{
    if (holes->count == HOLES_MAX)
        return FULL;
    if (array_reserve(holes->list, holes->room, holes->count + 1, VEC_MAX))
        return NOMEM;
    char *name = strdup(host);
    if (!name)
        return NOMEM;
    size_t place = place_of(holes, stream, from);
    struct hole *hole = &holes->list[place];
    memmove(hole + 1, hole, (holes->count++ - place) * sizeof *hole);
    *hole = (struct hole){ name, stream, from, to, derive(stream, from) };
    return OK;
}

static const struct hole *find(const struct holes *holes, const char *host, uint64_t stream, uint64_t sequence)
{
    for (size_t i = place_of(holes, stream, sequence); i-- > 0 && holes->list[i].stream == stream;)
        if (sequence <= holes->list[i].to && strcmp(holes->list[i].host, host) == 0)
            return &holes->list[i];
    return NULL;
}

uint64_t holes_stream(const struct holes *holes, const char *host, uint64_t stream, uint64_t sequence)
{
    const struct hole *hole;
    while ((hole = find(holes, host, stream, sequence)))
        stream = hole->as;
    return stream;
}

enum err holes_add(struct holes *holes, const char *host, uint64_t stream, uint64_t from, uint64_t to)
{
    char line[LINE_MAX];
    int size = snprintf(line, sizeof line, "%llu %llu %llu %s\n", (unsigned long long)stream, (unsigned long long)from,
                        (unsigned long long)to, host);
    if (size <= 0 || (size_t)size >= sizeof line)
        return USAGE;
    off_t end = lseek(holes->fd, 0, SEEK_END);
    if (write(holes->fd, line, (size_t)size) != size) {
        enum err err = errno ? err_from_errno(errno) : FULL;
        (void)!ftruncate(holes->fd, end);
        return err;
    }
    holes->is_dirty = true;
    return keep(holes, host, stream, from, to);
}

enum err holes_sync(struct holes *holes)
{
    if (!holes->is_dirty)
        return OK;
    if (fdatasync(holes->fd))
        return err_from_errno(errno);
    holes->is_dirty = false;
    return OK;
}

static void load_line(struct holes *holes, char *line)
{
    uint64_t numbers[3];
    for (size_t i = 0; i < 3; i++) {
        numbers[i] = strtoull(line, &line, 10);
        line += *line == ' ';
    }
    if (*line && numbers[1] && numbers[2] >= numbers[1])
        keep(holes, line, numbers[0], numbers[1], numbers[2]);
}

/* A last line that is not whole was never acted upon. */
static enum err load(struct holes *holes)
{
    struct stat status;
    if (fstat(holes->fd, &status))
        return err_from_errno(errno);
    size_t size = status.st_size < FILE_MAX ? (size_t)status.st_size : FILE_MAX, whole = 0;
    char *text = calloc(1, size + 1);
    if (!text)
        return NOMEM;
    ssize_t got = pread(holes->fd, text, size, 0);
    for (char *line = text, *next; got > 0 && (next = strchr(line, '\n')); line = next) {
        *next++ = '\0';
        load_line(holes, line);
        whole = (size_t)(next - text);
    }
    free(text);
    return got < 0 || ftruncate(holes->fd, (off_t)whole) || lseek(holes->fd, 0, SEEK_END) < 0 ? IO : OK;
}

enum err holes_open(struct holes *holes, const char *path)
{
    *holes = (struct holes){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) };
    enum err err = holes->fd < 0 ? err_from_errno(errno) : load(holes);
    if (err)
        holes_close(holes);
    return err;
}

void holes_close(struct holes *holes)
{
    for (size_t i = 0; i < holes->count; i++)
        free(holes->list[i].host);
    free(holes->list);
    if (holes->fd >= 0)
        close(holes->fd);
    *holes = (struct holes){ .fd = -1 };
}
