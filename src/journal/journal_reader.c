/* Readers of a journal. Each scans the segments with a buffer of its own. Delivery and deletion are decided under the
 * journal's lock, so an entry is either delivered or counted as missing, never both. */
#include "journal/journal_segment.h"

#include "base/log.h"
#include "journal/journal_damage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct journal_reader {
    struct journal *journal;
    struct journal_cursor *cursor;
    struct journal_scan scan;
    struct journal_damage damage;    /* found and not passed yet */
    struct journal_segment *segment; /* valid while removals equals the journal's */
    uint64_t base, removals;         /* of the segment being scanned */
    uint64_t first;                  /* base of the first segment it read: it knows no state from before */
    uint64_t at;                     /* where to continue when no segment is open */
    bool has_segment;
    bool may_be_readable; /* the eventfd may be readable */
    int fd;
    char host[JOURNAL_HOST_MAX]; /* of the last gap delivered */
};

static struct journal_cursor *find_cursor(const struct journal *journal, const char *name)
{
    struct journal_cursor *cursor = journal->cursors;
    while (cursor && strcmp(cursor->name, name) != 0)
        cursor = cursor->next;
    return cursor;
}

/* A new reader does not start in segments that are being deleted. */
static uint64_t oldest_kept(const struct journal *journal)
{
    const struct journal_segment *segment = journal->oldest;
    while (segment->is_deleting && segment->next)
        segment = segment->next;
    return segment->base;
}

static enum err claim_cursor(struct journal *journal, struct journal_reader *reader, const char *name, bool from_start,
                             uint64_t from)
{
    struct journal_cursor *cursor = find_cursor(journal, name);
    if (cursor && cursor->is_open)
        return AGAIN;
    uint64_t newest = journal_newest(journal);
    if (!cursor) {
        enum err err = journal_cursor_create(&cursor, journal->directory, name, from_start ? oldest_kept(journal) : newest);
        if (err)
            return err;
        cursor->next = journal->cursors;
        journal->cursors = cursor;
    }
    if (from) /* beyond the newest: the entries were lost in a crash of the node and will be appended again */
        cursor->acked = from < newest ? from : newest;
    cursor->delivered = cursor->acked;
    cursor->is_open = true;
    cursor->wake_fd = reader->fd;
    cursor->delivery_count = 0;
    reader->cursor = cursor;
    reader->at = cursor->acked;
    return OK;
}

enum err journal_reader_open(struct journal *journal, struct journal_reader **reader, const char *name, bool from_start,
                             uint64_t from)
{
    *reader = calloc(1, sizeof **reader);
    if (!*reader)
        return NOMEM;
    (*reader)->journal = journal;
    journal_scan_init(&(*reader)->scan);
    journal_damage_init(&(*reader)->damage);
    (*reader)->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum err err = (*reader)->fd < 0 ? err_from_errno(errno) : OK;
    if (!err) {
        pthread_mutex_lock(&journal->lock);
        err = claim_cursor(journal, *reader, name, from_start, from);
        pthread_mutex_unlock(&journal->lock);
    }
    if (err)
        journal_reader_close(reader);
    return err;
}

void journal_reader_close(struct journal_reader **reader)
{
    if (!*reader)
        return;
    struct journal_cursor *cursor = (*reader)->cursor;
    if (cursor) {
        pthread_mutex_lock(&(*reader)->journal->lock);
        cursor->is_open = cursor->is_waiting = false;
        cursor->wake_fd = -1;
        cursor->delivered = cursor->acked;
        for (size_t i = 0; i < cursor->gap_count; i++)
            cursor->gaps[i].is_reported = false; /* the remaining ones were not acknowledged */
        journal_cursor_save(cursor, (*reader)->journal->directory);
        pthread_mutex_unlock(&(*reader)->journal->lock);
    }
    journal_scan_clear(&(*reader)->scan);
    journal_damage_clear(&(*reader)->damage);
    if ((*reader)->fd >= 0)
        close((*reader)->fd);
    free(*reader);
    *reader = NULL;
}

/* Cursors are freed only with sync_lock held: during deletion the writer walks the list without the lock. */
void journal_remove_cursor(struct journal *journal, const char *name)
{
    pthread_mutex_lock(&journal->sync_lock);
    pthread_mutex_lock(&journal->lock);
    struct journal_cursor **at = &journal->cursors, *cursor = NULL;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at && !(*at)->is_open) {
        cursor = *at;
        *at = cursor->next;
        journal_cursor_remove(journal->directory, name);
    }
    pthread_mutex_unlock(&journal->lock);
    pthread_mutex_unlock(&journal->sync_lock);
    journal_cursor_free(&cursor);
}

/* The name of a cursor that can be removed. */
static bool find_unwanted(struct journal *journal, bool (*is_wanted)(const void *context, const char *name),
                          const void *context, char name[JOURNAL_NAME_MAX])
{
    pthread_mutex_lock(&journal->lock);
    const struct journal_cursor *cursor = journal->cursors;
    while (cursor && (cursor->is_open || is_wanted(context, cursor->name)))
        cursor = cursor->next;
    if (cursor)
        snprintf(name, JOURNAL_NAME_MAX, "%s", cursor->name);
    pthread_mutex_unlock(&journal->lock);
    return cursor;
}

void journal_remove_unwanted_cursors(struct journal *journal, bool (*is_wanted)(const void *context, const char *name),
                                     const void *context)
{
    char name[JOURNAL_NAME_MAX];
    while (find_unwanted(journal, is_wanted, context, name)) {
        log_info("sink %s is no longer configured; its journal cursor is removed", name);
        journal_remove_cursor(journal, name);
    }
}

/* The segment the reader is in; NULL: none, or it was deleted. */
static struct journal_segment *current_segment(struct journal_reader *reader)
{
    if (!reader->has_segment)
        return NULL;
    if (reader->removals == reader->journal->removals)
        return reader->segment;
    struct journal_segment *segment = journal_segment_at(reader->journal, reader->base);
    if (!segment || segment->base != reader->base) {
        reader->at = reader->scan.at;
        reader->has_segment = false;
        return NULL;
    }
    reader->segment = segment;
    reader->removals = reader->journal->removals;
    return segment;
}

enum reader_step { STEP_READ, STEP_OPEN, STEP_GAP, STEP_WAIT };

/* Decides what comes next; the lock is held. *segment: the one to read from or to open. */
static enum reader_step next_step(struct journal_reader *reader, struct journal_segment **segment)
{
    const struct journal *journal = reader->journal;
    uint64_t next = journal->active->end;
    enum reader_step step = STEP_WAIT;
    *segment = current_segment(reader);
    if (!*segment) {
        *segment = journal_segment_at(journal, reader->at);
        next = *segment ? (*segment)->base : next;
        step = *segment ? STEP_OPEN : STEP_WAIT;
    } else if (reader->scan.at < journal_segment_visible(journal, *segment)) {
        next = reader->scan.at;
        step = STEP_READ;
    } else if ((*segment)->next && reader->scan.at >= (*segment)->end) {
        *segment = (*segment)->next;
        next = (*segment)->base;
        step = STEP_OPEN;
    }
    const struct journal_gap *gap = journal_cursor_next_unreported_gap(reader->cursor);
    if (journal_damage_next_unreported(&reader->damage, reader->scan.at) || (gap && gap->position < next))
        return STEP_GAP;
    return *segment && (*segment)->is_deleting ? STEP_WAIT : step;
}

static void deliver_gap(struct journal_reader *reader, struct journal_entry *entry)
{
    struct journal_damaged_stream *lost = journal_damage_next_unreported(&reader->damage, reader->scan.at);
    struct journal_gap *gap = lost ? &lost->gap : journal_cursor_next_unreported_gap(reader->cursor);
    gap->is_reported = gap->is_final = true;
    if (lost)
        lost->is_reported = true;
    journal_cursor_deliver(reader->cursor, gap->position, gap->to_ns);
    snprintf(reader->host, sizeof reader->host, "%s", gap->host);
    *entry = (struct journal_entry){
        .kind = JOURNAL_GAP, .host = reader->host, .stream = gap->stream, .sequence = gap->sequence,
        .time_ns = gap->to_ns,
        .position = gap->position, .is_new = true, .gap_from_ns = gap->from_ns, .gap_to_ns = gap->to_ns,
        .gap_records = gap->records, .gap_reason = journal_reason_string(gap->reason),
    };
}

/* Opens a segment; the lock is not held. If it was deleted meanwhile, the next step notices. */
static enum err open_segment(struct journal_reader *reader, uint64_t base, uint64_t end)
{
    char name[JOURNAL_FILE_NAME_MAX];
    journal_segment_name(name, base);
    enum err err = journal_scan_open(&reader->scan, reader->journal->directory, name, base, end);
    reader->has_segment = !err;
    reader->base = base;
    reader->first = reader->first ? reader->first : base;
    reader->removals = UINT64_MAX;
    reader->at = base;
    return err == ABSENT ? OK : err;
}

/* Computes the cost of the damage that ends at scan.at. The lock is held on entry and on return. */
static enum err assess_damage(struct journal_reader *reader)
{
    struct journal *journal = reader->journal;
    struct journal_span spans[3] = { 0 };
    const struct journal_segment *segment = current_segment(reader), *before = NULL;
    uint64_t to = reader->scan.at, from = to - reader->scan.damaged_bytes, delivered = reader->cursor->delivered;
    if (!segment || segment->is_deleting)
        return CORRUPT; /* counted when the segment is deleted */
    for (before = journal->oldest; before != segment && before->next != segment;)
        before = before->next;
    if (before != segment && reader->first != segment->base)
        spans[0] = (struct journal_span){ before->base, before->end };
    spans[1] = (struct journal_span){ segment->base, journal_segment_visible(journal, segment) };
    if (segment->next)
        spans[2] = (struct journal_span){ segment->next->base, journal_segment_visible(journal, segment->next) };
    pthread_mutex_unlock(&journal->lock);
    enum err err = journal_damage_assess(&reader->damage, journal->directory, spans, from, to, delivered);
    pthread_mutex_lock(&journal->lock);
    const struct journal_damaged_stream *lost = journal_damage_next_unreported(&reader->damage, from);
    if (lost) /* in flight from now on */
        journal_cursor_deliver(reader->cursor, lost->gap.position, lost->gap.to_ns);
    return err ? err : CORRUPT;
}

/* Marks an entry as delivered. false: its segment is being deleted, so it counts as lost. */
static bool deliver(struct journal_reader *reader, struct journal_entry *entry)
{
    const struct journal_segment *segment = current_segment(reader);
    if (!segment || segment->is_deleting) {
        reader->scan.at = entry->position;
        reader->at = entry->position;
        return false;
    }
    entry->is_new = entry->position > reader->cursor->delivered;
    if (entry->kind == JOURNAL_RECORD)
        journal_cursor_deliver(reader->cursor, entry->position, entry->time_ns);
    return true;
}

static void reset_eventfd(struct journal_reader *reader)
{
    eventfd_t count;
    if (!reader->may_be_readable)
        return;
    pthread_mutex_lock(&reader->journal->lock);
    reader->cursor->is_waiting = false;
    pthread_mutex_unlock(&reader->journal->lock);
    eventfd_read(reader->fd, &count);
    reader->may_be_readable = false;
}

/* One step; the lock is held on entry and on return. GONE: take another step. */
static enum err take_step(struct journal_reader *reader, struct journal_entry *entry)
{
    pthread_mutex_t *lock = &reader->journal->lock;
    struct journal_segment *segment;
    enum reader_step step = next_step(reader, &segment);
    if (step == STEP_GAP) {
        deliver_gap(reader, entry);
        return OK;
    }
    if (step == STEP_WAIT) {
        reader->cursor->is_waiting = reader->may_be_readable = true;
        return AGAIN;
    }
    uint64_t base = segment->base;
    reader->scan.end = journal_segment_visible(reader->journal, segment);
    uint64_t end = reader->scan.end;
    pthread_mutex_unlock(lock);
    enum err err = step == STEP_OPEN ? open_segment(reader, base, end) : journal_scan_next(&reader->scan, entry);
    pthread_mutex_lock(lock);
    if (step == STEP_OPEN)
        return err ? err : GONE;
    if (err)
        return err == CORRUPT ? assess_damage(reader) : err;
    if (entry->kind != JOURNAL_RECORD && entry->kind != JOURNAL_SNAPSHOT)
        return GONE; /* written by a newer version */
    if (journal_damage_affects(&reader->damage, entry))
        return GONE;
    return deliver(reader, entry) ? OK : GONE;
}

enum err journal_reader_next(struct journal_reader *reader, struct journal_entry *entry)
{
    reset_eventfd(reader);
    pthread_mutex_lock(&reader->journal->lock);
    enum err err;
    do
        err = take_step(reader, entry);
    while (err == GONE);
    pthread_mutex_unlock(&reader->journal->lock);
    return err;
}

uint64_t journal_reader_segment(const struct journal_reader *reader)
{
    return reader->base;
}

int journal_reader_fd(const struct journal_reader *reader)
{
    return reader->fd;
}

enum err journal_reader_ack(struct journal_reader *reader, uint64_t position)
{
    pthread_mutex_lock(&reader->journal->lock);
    journal_cursor_ack(reader->cursor, position);
    pthread_mutex_unlock(&reader->journal->lock);
    return OK;
}

uint64_t journal_reader_lag_bytes(const struct journal_reader *reader)
{
    struct journal *journal = reader->journal;
    uint64_t lag = 0;
    pthread_mutex_lock(&journal->lock);
    uint64_t acked = reader->cursor->acked;
    for (const struct journal_segment *segment = journal->oldest; segment; segment = segment->next)
        if (!journal_segment_is_acked(segment, reader->cursor))
            lag += segment->end - (acked > segment->base ? acked : segment->base);
    pthread_mutex_unlock(&journal->lock);
    return lag;
}

uint64_t journal_reader_lag_ns(const struct journal_reader *reader, uint64_t now_ns)
{
    struct journal *journal = reader->journal;
    const struct journal_cursor *cursor = reader->cursor;
    uint64_t time_ns = 0;
    pthread_mutex_lock(&journal->lock);
    const struct journal_segment *segment = journal->oldest;
    while (segment && journal_segment_is_acked(segment, cursor))
        segment = segment->next;
    if (segment) /* the next entry has not been read yet: use the time of the one before it, or of the segment's first */
        time_ns = cursor->delivery_count ? cursor->deliveries[0].time_ns
            : cursor->acked_ns ? cursor->acked_ns : segment->oldest_ns;
    pthread_mutex_unlock(&journal->lock);
    return time_ns && now_ns > time_ns ? now_ns - time_ns : 0;
}
