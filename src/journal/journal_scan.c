/* A buffered window over a segment file that moves with the entries. */
#include "journal/journal_scan.h"

#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES (64u << 10)

void journal_scan_init(struct journal_scan *scan)
{
    *scan = (struct journal_scan){ .fd = -1 };
}

void journal_scan_clear(struct journal_scan *scan)
{
    journal_scan_close(scan);
    free(scan->data);
    journal_scan_init(scan);
}

void journal_scan_close(struct journal_scan *scan)
{
    if (scan->fd >= 0)
        close(scan->fd);
    scan->fd = -1;
    scan->size = 0;
}

enum err journal_scan_open(struct journal_scan *scan, int directory, const char *name, uint64_t base, uint64_t end)
{
    journal_scan_close(scan);
    scan->fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (scan->fd < 0)
        return err_from_errno(errno);
    struct stat st;
    if (end == 0 && fstat(scan->fd, &st) != 0)
        return err_from_errno(errno);
    scan->base = base;
    scan->at = base + JOURNAL_SEGMENT_HEADER_BYTES;
    scan->end = end ? end : base + (uint64_t)st.st_size;
    if (scan->end < scan->at)
        scan->end = scan->at;
    return OK;
}

static enum err reserve(struct journal_scan *scan, size_t size)
{
    if (size <= scan->capacity)
        return OK;
    size_t capacity = size > WINDOW_BYTES ? size + size / 2 : WINDOW_BYTES;
    if (array_resize(scan->data, capacity))
        return NOMEM;
    scan->capacity = capacity;
    return OK;
}

/* Reads into the window from position, up to its capacity. */
static enum err fill(struct journal_scan *scan, uint64_t position)
{
    uint64_t left = scan->end - position;
    size_t want = left < scan->capacity ? (size_t)left : scan->capacity;
    scan->from = position;
    scan->size = 0;
    while (scan->size < want) {
        ssize_t got = pread(scan->fd, scan->data + scan->size, want - scan->size,
                            (off_t)(position - scan->base + scan->size));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_from_errno(errno);
        if (got == 0)
            break; /* truncated by somebody: what is missing counts as damage */
        scan->size += (size_t)got;
    }
    return OK;
}

/* The bytes from position: at least size of them, unless the segment ends before. */
static enum err view(struct journal_scan *scan, uint64_t position, size_t size, struct bytes *bytes)
{
    uint64_t left = scan->end - position;
    if (size > left)
        size = (size_t)left;
    if (position < scan->from || position + size > scan->from + scan->size) {
        enum err err = reserve(scan, size ? size : 1);
        if (!err)
            err = fill(scan, position);
        if (err)
            return err;
    }
    uint64_t end = scan->from + scan->size < scan->end ? scan->from + scan->size : scan->end;
    *bytes = (struct bytes){ scan->data + (position - scan->from), position < end ? (size_t)(end - position) : 0 };
    return OK;
}

/* CORRUPT: there is no entry at position. */
static enum err read_at(struct journal_scan *scan, uint64_t position, struct journal_entry *entry, size_t *size)
{
    struct bytes rest;
    *size = JOURNAL_HEADER_BYTES;
    for (int i = 0; i < 2; i++) {
        enum err err = view(scan, position, *size, &rest);
        if (!err)
            err = journal_entry_read(rest, position, entry, size);
        if (err != AGAIN)
            return err;
        if (position + *size > scan->end)
            break;
    }
    return CORRUPT; /* it would extend beyond the end */
}

/* Advances to the next magic number; to the end if there is none. */
static enum err find_magic(struct journal_scan *scan, uint64_t *position)
{
    const uint32_t magic = JOURNAL_MAGIC;
    while (*position + JOURNAL_HEADER_BYTES <= scan->end) {
        struct bytes rest;
        enum err err = view(scan, *position, JOURNAL_HEADER_BYTES, &rest);
        if (err)
            return err;
        if (rest.size < sizeof magic)
            break;
        const char *found = memmem(rest.data, rest.size, &magic, sizeof magic);
        if (found) {
            *position += (uint64_t)(found - rest.data);
            return OK;
        }
        *position += rest.size - (sizeof magic - 1);
    }
    *position = scan->end;
    return OK;
}

static enum err skip_damage(struct journal_scan *scan)
{
    struct journal_entry entry;
    size_t size;
    uint64_t position = scan->at;
    do {
        position++;
        enum err err = find_magic(scan, &position);
        if (!err && position < scan->end)
            err = read_at(scan, position, &entry, &size);
        if (err == OK)
            break;
        if (err != CORRUPT)
            return err;
    } while (position < scan->end);
    scan->damaged_bytes = position - scan->at;
    scan->at = position;
    return CORRUPT;
}

enum err journal_scan_next(struct journal_scan *scan, struct journal_entry *entry)
{
    if (scan->at >= scan->end)
        return GONE;
    size_t size;
    enum err err = read_at(scan, scan->at, entry, &size);
    if (err == CORRUPT)
        return skip_damage(scan);
    if (!err)
        scan->at += size;
    return err;
}
