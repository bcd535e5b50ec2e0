/* Segment files: found and read through at the start, begun and ended while the journal is written. */
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
#define LIMIT_PARTS 64    /* of the journal, where states are small */
#define LIMIT_PARTS_MIN 4 /* never less: removing the oldest must leave most */
#define STATE_TIMES 8     /* states are at most so small a part of a segment */

void journal_segment_name(char name[JOURNAL_FILE_ROOM], uint64_t base)
{
    snprintf(name, JOURNAL_FILE_ROOM, "%016llx" SUFFIX, (unsigned long long)base);
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

/* Into the list, by base. */
static enum err add_found(struct journal *journal, uint64_t base)
{
    struct journal_segment *segment = calloc(1, sizeof *segment), **at = &journal->oldest;
    if (!segment)
        return NOMEM;
    while (*at && (*at)->base < base)
        at = &(*at)->next;
    *segment = (struct journal_segment){ .next = *at, .base = base, .fd = -1 };
    *at = segment;
    return OK;
}

static enum err find_all(struct journal *journal)
{
    int folder = openat(journal->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    if (!dir) {
        enum err err = err_from_errno(errno);
        if (folder >= 0)
            close(folder);
        return err;
    }
    enum err err = OK;
    struct dirent *entry;
    uint64_t base;
    while (!err && (entry = readdir(dir)))
        if (base_of(entry->d_name, &base))
            err = add_found(journal, base);
    closedir(dir);
    return err;
}

static enum err learn_entry(struct journal *journal, struct journal_segment *segment, const struct journal_entry *entry)
{
    struct journal_stream *stream;
    enum err err = journal_streams_add(&journal->streams, entry->host, entry->stream, &stream);
    if (err)
        return err;
    segment->entries++;
    if (segment->oldest_ns == 0)
        segment->oldest_ns = entry->time_ns;
    stream->seen_ns = segment->newest_ns;
    stream->next = entry->sequence + 1;
    if (entry->kind == JOURNAL_STATE) {
        segment->state_bytes += entry->body.size;
        stream->state_in = segment->base;
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
    return entry->kind == JOURNAL_STATE || entry->kind == JOURNAL_RECORD;
}

/* Reads a segment through. The last one ends behind its last whole entry: there a crash was in the way. In the others damage
 * at the end is damage, and readers come to it. */
static enum err learn(struct journal *journal, struct journal_segment *segment, struct journal_scan *scan)
{
    char name[JOURNAL_FILE_ROOM];
    struct stat st;
    journal_segment_name(name, segment->base);
    enum err err = journal_scan_open(scan, journal->folder, name, segment->base, 0);
    if (!err && fstat(scan->fd, &st) != 0)
        err = err_from_errno(errno);
    if (err)
        return err;
    segment->began_ns = segment->newest_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
    segment->end = scan->at;
    struct journal_entry entry;
    while ((err = journal_scan_next(scan, &entry)) != GONE) {
        if (err == CORRUPT) {
            segment->has_hole |= scan->at < scan->end;
            journal->damaged_bytes += scan->damaged_bytes;
            continue;
        }
        if (!err && is_known(&entry))
            err = learn_entry(journal, segment, &entry);
        if (err)
            return err;
        segment->end = scan->at;
    }
    if (segment->next)
        segment->end = scan->end;
    journal->bytes += segment->end - segment->base;
    return OK;
}

/* A file whose place another one holds already can only have been put there by hand. */
static void leave_aside(struct journal_segment **at)
{
    struct journal_segment *segment = *at;
    log_warn("the journal's file %016llx" SUFFIX " overlaps the one before it and is left aside",
             (unsigned long long)segment->base);
    *at = segment->next;
    free(segment);
}

enum err journal_segments_learn(struct journal *journal)
{
    struct journal_scan scan;
    journal_scan_init(&scan);
    enum err err = find_all(journal);
    uint64_t end = 0;
    for (struct journal_segment **at = &journal->oldest; !err && *at;) {
        if ((*at)->base < end) {
            leave_aside(at);
            continue;
        }
        err = learn(journal, *at, &scan);
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
    uint64_t limit = journal->bytes_max / LIMIT_PARTS, most = journal->bytes_max / LIMIT_PARTS_MIN;
    if (limit < segment->state_bytes * STATE_TIMES)
        limit = segment->state_bytes * STATE_TIMES;
    if (limit < LIMIT_MIN)
        limit = LIMIT_MIN;
    return limit < most ? limit : most;
}

static enum err write_head(int fd, uint64_t base)
{
    char head[JOURNAL_SEGMENT_HEAD];
    memcpy(head, JOURNAL_SEGMENT_MAGIC, sizeof base);
    memcpy(head + sizeof base, &base, sizeof base);
    ssize_t put = pwrite(fd, head, sizeof head, 0);
    return put == (ssize_t)sizeof head ? OK : put < 0 ? err_from_errno(errno) : FULL;
}

enum err journal_segment_begin(struct journal *journal, uint64_t base)
{
    char name[JOURNAL_FILE_ROOM];
    struct journal_segment *segment = take_spare(journal);
    if (!segment)
        return NOMEM;
    journal_segment_name(name, base);
    int fd = openat(journal->folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    enum err err = fd < 0 ? err_from_errno(errno) : write_head(fd, base);
    bool lacks_head = fd >= 0 && err == FULL && journal->is_full;
    if (err && !lacks_head) {
        if (fd >= 0) {
            close(fd);
            unlinkat(journal->folder, name, 0);
        }
        journal->spare = segment;
        return err;
    }
    pthread_mutex_lock(&journal->lock);
    *segment = (struct journal_segment){ .base = base, .end = base + JOURNAL_SEGMENT_HEAD, .fd = fd, .lacks_head = lacks_head,
                                         .began_ns = journal->now_ns, .newest_ns = journal->now_ns };
    if (journal->active)
        journal->active->next = segment;
    else
        journal->oldest = segment;
    journal->active = segment;
    journal->bytes += JOURNAL_SEGMENT_HEAD;
    journal->is_folder_dirty = true;
    pthread_mutex_unlock(&journal->lock);
    return OK;
}

void journal_segment_mend(struct journal *journal)
{
    struct journal_segment *active = journal->active;
    if (active->lacks_head)
        active->lacks_head = write_head(active->fd, active->base) != OK;
}

/* What a crash left half written is cut off. */
static enum err reopen(struct journal *journal, struct journal_segment *segment)
{
    char name[JOURNAL_FILE_ROOM];
    journal_segment_name(name, segment->base);
    segment->fd = openat(journal->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (segment->fd < 0)
        return err_from_errno(errno);
    if (ftruncate(segment->fd, (off_t)(segment->end - segment->base)) != 0)
        return err_from_errno(errno);
    return write_head(segment->fd, segment->base);
}

enum err journal_segment_resume(struct journal *journal)
{
    struct journal_segment *last = journal->active;
    if (!last) /* later than any position of a journal that stood here before, for whoever remembers one */
        return journal_segment_begin(journal, journal->now_ns / NS_PER_US);
    enum err err = reopen(journal, last);
    if (!err && last->has_hole) /* what follows must not build on what is missing */
        err = journal_segment_begin(journal, last->end);
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
    return segment->synced ? segment->synced : segment->base + JOURNAL_SEGMENT_HEAD;
}

bool journal_segment_is_done(const struct journal_segment *segment, const struct journal_cursor *cursor)
{
    return segment->last <= cursor->done;
}
