/* A list ordered by stream and start of the gap. A gap within a gap is one of the stream that fills it. */
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

/* The same on every collector, so that a record that arrives by two ways has one stream id at the top. */
static uint64_t derive(uint64_t stream, uint64_t from)
{
    uint64_t x = stream ^ from * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) | 1;
}

/* The index of the gap that starts there, or where it would be inserted. */
static size_t position_of(const struct seq_gaps *gaps, uint64_t stream, uint64_t from)
{
    size_t low = 0, high = gaps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct seq_gap *gap = &gaps->list[middle];
        if (gap->stream < stream || (gap->stream == stream && gap->from <= from))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum err keep(struct seq_gaps *gaps, const char *host, uint64_t stream, uint64_t from, uint64_t to)
{
    if (gaps->count == SEQ_GAPS_MAX)
        return FULL;
    if (array_reserve(gaps->list, gaps->capacity, gaps->count + 1, VEC_MAX))
        return NOMEM;
    char *name = strdup(host);
    if (!name)
        return NOMEM;
    size_t position = position_of(gaps, stream, from);
    struct seq_gap *gap = &gaps->list[position];
    memmove(gap + 1, gap, (gaps->count++ - position) * sizeof *gap);
    *gap = (struct seq_gap){ name, stream, from, to, derive(stream, from) };
    return OK;
}

static const struct seq_gap *find(const struct seq_gaps *gaps, const char *host, uint64_t stream, uint64_t sequence)
{
    for (size_t i = position_of(gaps, stream, sequence); i-- > 0 && gaps->list[i].stream == stream;)
        if (sequence <= gaps->list[i].to && strcmp(gaps->list[i].host, host) == 0)
            return &gaps->list[i];
    return NULL;
}

uint64_t seq_gaps_stream(const struct seq_gaps *gaps, const char *host, uint64_t stream, uint64_t sequence)
{
    const struct seq_gap *gap;
    while ((gap = find(gaps, host, stream, sequence)))
        stream = gap->as;
    return stream;
}

enum err seq_gaps_add(struct seq_gaps *gaps, const char *host, uint64_t stream, uint64_t from, uint64_t to)
{
    char line[LINE_MAX];
    int size = snprintf(line, sizeof line, "%llu %llu %llu %s\n", (unsigned long long)stream, (unsigned long long)from,
                        (unsigned long long)to, host);
    if (size <= 0 || (size_t)size >= sizeof line)
        return USAGE;
    off_t end = lseek(gaps->fd, 0, SEEK_END);
    if (write(gaps->fd, line, (size_t)size) != size) {
        enum err err = errno ? err_from_errno(errno) : FULL;
        (void)!ftruncate(gaps->fd, end);
        return err;
    }
    gaps->is_dirty = true;
    return keep(gaps, host, stream, from, to);
}

enum err seq_gaps_sync(struct seq_gaps *gaps)
{
    if (!gaps->is_dirty)
        return OK;
    if (fdatasync(gaps->fd))
        return err_from_errno(errno);
    gaps->is_dirty = false;
    return OK;
}

static void load_line(struct seq_gaps *gaps, char *line)
{
    uint64_t numbers[3];
    for (size_t i = 0; i < 3; i++) {
        numbers[i] = strtoull(line, &line, 10);
        line += *line == ' ';
    }
    if (*line && numbers[1] && numbers[2] >= numbers[1])
        keep(gaps, line, numbers[0], numbers[1], numbers[2]);
}

/* An incomplete last line was never acted upon. */
static enum err load(struct seq_gaps *gaps)
{
    struct stat status;
    if (fstat(gaps->fd, &status))
        return err_from_errno(errno);
    size_t size = status.st_size < FILE_MAX ? (size_t)status.st_size : FILE_MAX, whole = 0;
    char *text = calloc(1, size + 1);
    if (!text)
        return NOMEM;
    ssize_t got = pread(gaps->fd, text, size, 0);
    for (char *line = text, *next; got > 0 && (next = strchr(line, '\n')); line = next) {
        *next++ = '\0';
        load_line(gaps, line);
        whole = (size_t)(next - text);
    }
    free(text);
    return got < 0 || ftruncate(gaps->fd, (off_t)whole) || lseek(gaps->fd, 0, SEEK_END) < 0 ? IO : OK;
}

enum err seq_gaps_open(struct seq_gaps *gaps, const char *path)
{
    *gaps = (struct seq_gaps){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) };
    enum err err = gaps->fd < 0 ? err_from_errno(errno) : load(gaps);
    if (err)
        seq_gaps_close(gaps);
    return err;
}

void seq_gaps_close(struct seq_gaps *gaps)
{
    for (size_t i = 0; i < gaps->count; i++)
        free(gaps->list[i].host);
    free(gaps->list);
    if (gaps->fd >= 0)
        close(gaps->fd);
    *gaps = (struct seq_gaps){ .fd = -1 };
}
