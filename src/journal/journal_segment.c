/* Segment files: found and scanned at the start, started and ended while the journal is written. */
#include "journal/journal_segment.h"

#include "base/clock.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".journal"
#define DIGITS 16
#define LIMIT_MIN (64u << 10)
#define LIMIT_PARTS 64    /* default size: this part of the journal */
#define LIMIT_PARTS_MIN 4 /* largest size: deleting the oldest segment must leave most of the data */
#define SNAPSHOT_TIMES 8     /* a segment has at least this many times the size of its snapshots */

void journal_segment_name(char name[JOURNAL_FILE_NAME_MAX], uint64_t base)
{
    snprintf(name, JOURNAL_FILE_NAME_MAX, "%016llx" SUFFIX, (unsigned long long)base);
}

static bool base_of(const char *name, uint64_t *base)
{
    *base = 0;
    for (int i = 0; i < DIGITS; i++) {
        char c = name[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        *base = *base << 4 | (uint64_t)digit;
    }
    return strcmp(name + DIGITS, SUFFIX) == 0;
}

static struct journal_segment *take_spare(struct journal *journal)
{
    struct journal_segment *segment = journal->spare;
    journal->spare = NULL;
    return segment ? segment : malloc(sizeof *segment);
}

enum err journal_each_file(struct journal *journal, enum err (*each)(struct journal *journal, const char *file))
{
    int directory = openat(journal->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = directory < 0 ? NULL : fdopendir(directory);
    enum err err = dir ? OK : err_from_errno(errno);
    while (dir && !err) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            err = errno ? err_from_errno(errno) : OK;
            break;
        }
        err = each(journal, entry->d_name);
    }
    if (dir)
        closedir(dir);
    else if (directory >= 0)
        close(directory);
    return err;
}

/* Inserts a segment into the list, sorted by base. */
static enum err add_segment(struct journal *journal, const char *file)
{
    uint64_t base;
    if (!base_of(file, &base))
        return OK;
    struct journal_segment *segment = calloc(1, sizeof *segment), **at = &journal->oldest;
    if (!segment)
        return NOMEM;
    while (*at && (*at)->base < base)
        at = &(*at)->next;
    *segment = (struct journal_segment){ .next = *at, .base = base, .fd = -1 };
    *at = segment;
    return OK;
}

static enum err load_entry(struct journal *journal, struct journal_segment *segment, const struct journal_entry *entry)
{
    struct journal_stream *stream;
    enum err err = journal_streams_get(&journal->streams, entry->host, entry->stream, &stream);
    if (err)
        return err;
    segment->entries++;
    if (segment->oldest_ns == 0)
        segment->oldest_ns = entry->time_ns;
    stream->updated_ns = segment->newest_ns;
    stream->next = entry->sequence + 1;
    if (entry->kind == JOURNAL_SNAPSHOT) {
        segment->snapshot_bytes += entry->body.size;
        stream->snapshot_segment = segment->base;
        return OK;
    }
    segment->records++;
    segment->last = entry->position;
    if (entry->sequence > stream->last)
        stream->last = entry->sequence;
    return OK;
}

static bool is_known(const struct journal_entry *entry)
{
    return entry->kind == JOURNAL_SNAPSHOT || entry->kind == JOURNAL_RECORD;
}

/* Scans a segment. The last one ends after its last complete entry, because a crash may have cut off the next. In the
 * others damage at the end is damage, and readers will find it. */
static enum err load_segment(struct journal *journal, struct journal_segment *segment, struct journal_scan *scan)
{
    char name[JOURNAL_FILE_NAME_MAX];
    struct stat st;
    journal_segment_name(name, segment->base);
    enum err err = journal_scan_open(scan, journal->directory, name, segment->base, 0);
    if (!err && fstat(scan->fd, &st) != 0)
        err = err_from_errno(errno);
    if (err)
        return err;
    segment->started_ns = segment->newest_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
    segment->end = scan->at;
    struct journal_entry entry;
    while ((err = journal_scan_next(scan, &entry)) != GONE) {
        if (err == CORRUPT) {
            segment->has_damage |= scan->at < scan->end;
            journal->damaged_bytes += scan->damaged_bytes;
            continue;
        }
        if (!err && is_known(&entry))
            err = load_entry(journal, segment, &entry);
        if (err)
            return err;
        segment->end = scan->at;
    }
    if (segment->next)
        segment->end = scan->end;
    journal->bytes += segment->end - segment->base;
    return OK;
}

/* A file that overlaps another one can only have been put there by hand. */
static void ignore_overlapping(struct journal_segment **at)
{
    struct journal_segment *segment = *at;
    log_warn("journal file %016llx" SUFFIX " overlaps the one before it and is ignored",
             (unsigned long long)segment->base);
    *at = segment->next;
    free(segment);
}

enum err journal_segments_load(struct journal *journal)
{
    struct journal_scan scan;
    journal_scan_init(&scan);
    enum err err = journal_each_file(journal, add_segment);
    uint64_t end = 0;
    for (struct journal_segment **at = &journal->oldest; !err && *at;) {
        if ((*at)->base < end) {
            ignore_overlapping(at);
            continue;
        }
        err = load_segment(journal, *at, &scan);
        end = (*at)->end;
        journal->active = *at;
        at = &(*at)->next;
    }
    journal_scan_clear(&scan);
    return err;
}

uint64_t journal_segment_limit(const struct journal *journal, const struct journal_segment *segment)
{
    if (journal->settings.segment_bytes)
        return journal->settings.segment_bytes;
    uint64_t limit = journal->bytes_max / LIMIT_PARTS, max = journal->bytes_max / LIMIT_PARTS_MIN;
    if (limit < segment->snapshot_bytes * SNAPSHOT_TIMES)
        limit = segment->snapshot_bytes * SNAPSHOT_TIMES;
    if (limit < LIMIT_MIN)
        limit = LIMIT_MIN;
    return limit < max ? limit : max;
}

static enum err write_header(int fd, uint64_t base)
{
    char head[JOURNAL_SEGMENT_HEADER_BYTES];
    memcpy(head, JOURNAL_SEGMENT_MAGIC, sizeof base);
    memcpy(head + sizeof base, &base, sizeof base);
    ssize_t put = pwrite(fd, head, sizeof head, 0);
    return put == (ssize_t)sizeof head ? OK : put < 0 ? err_from_errno(errno) : FULL;
}

enum err journal_segment_start(struct journal *journal, uint64_t base)
{
    char name[JOURNAL_FILE_NAME_MAX];
    struct journal_segment *segment = take_spare(journal);
    if (!segment)
        return NOMEM;
    journal_segment_name(name, base);
    int fd = openat(journal->directory, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    enum err err = fd < 0 ? err_from_errno(errno) : write_header(fd, base);
    bool lacks_header = fd >= 0 && err == FULL && journal->is_full;
    if (err && !lacks_header) {
        if (fd >= 0) {
            close(fd);
            unlinkat(journal->directory, name, 0);
        }
        journal->spare = segment;
        return err;
    }
    pthread_mutex_lock(&journal->lock);
    *segment = (struct journal_segment){ .base = base, .end = base + JOURNAL_SEGMENT_HEADER_BYTES, .fd = fd,
                                         .lacks_header = lacks_header, .started_ns = journal->now_ns,
                                         .newest_ns = journal->now_ns };
    if (journal->active)
        journal->active->next = segment;
    else
        journal->oldest = segment;
    journal->active = segment;
    journal->bytes += JOURNAL_SEGMENT_HEADER_BYTES;
    journal->is_directory_dirty = true;
    pthread_mutex_unlock(&journal->lock);
    return OK;
}

void journal_segment_write_header(struct journal *journal)
{
    struct journal_segment *active = journal->active;
    if (active->lacks_header)
        active->lacks_header = write_header(active->fd, active->base) != OK;
}

/* Truncates what a crash left half written. */
static enum err reopen(struct journal *journal, struct journal_segment *segment)
{
    char name[JOURNAL_FILE_NAME_MAX];
    journal_segment_name(name, segment->base);
    segment->fd = openat(journal->directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (segment->fd < 0)
        return err_from_errno(errno);
    if (ftruncate(segment->fd, (off_t)(segment->end - segment->base)) != 0)
        return err_from_errno(errno);
    return write_header(segment->fd, segment->base);
}

enum err journal_segment_resume(struct journal *journal)
{
    struct journal_segment *last = journal->active;
    if (!last) /* higher than any position of a journal that was in this directory before, for readers that remember one */
        return journal_segment_start(journal, journal->now_ns / NS_PER_US);
    enum err err = reopen(journal, last);
    if (!err && last->has_damage) /* new records must not build on missing ones */
        err = journal_segment_start(journal, last->end);
    return err;
}

struct journal_segment *journal_segment_at(const struct journal *journal, uint64_t position)
{
    struct journal_segment *segment = journal->oldest;
    while (segment && segment->end <= position)
        segment = segment->next;
    return segment;
}

uint64_t journal_newest(const struct journal *journal)
{
    uint64_t newest = journal->oldest->base;
    for (const struct journal_segment *segment = journal->oldest; segment; segment = segment->next)
        newest = segment->last ? segment->last : newest;
    return newest;
}

uint64_t journal_segment_visible(const struct journal *journal, const struct journal_segment *segment)
{
    if (!journal->settings.after_sync)
        return segment->end;
    return segment->synced ? segment->synced : segment->base + JOURNAL_SEGMENT_HEADER_BYTES;
}

bool journal_segment_is_acked(const struct journal_segment *segment, const struct journal_cursor *cursor)
{
    return segment->last <= cursor->acked;
}
