/* Periodic maintenance of a journal: saves cursors, ends segments, and deletes segments that all readers have
 * acknowledged, that are too old, or that exceed the size limit. When a reader loses entries by that, they are counted
 * per stream, and the count is durable in the reader's gaps before the file is unlinked. */
#include "journal/journal_segment.h"

#include "base/log.h"

#include <stdlib.h>
#include <unistd.h>

#define END_ACKED_BYTES (1u << 20) /* acknowledged entries should not occupy a node's disk ... */
#define END_ACKED_SNAPSHOTS 8         /* ... but a new segment repeats all snapshots, so it must be worth it */
#define AGE_PARTS 8
#define FORGET_NS (90ull * 86400 * 1000000000) /* streams that ended this long ago are not expected to be sent again */

static bool acked_by_all(const struct journal *journal, const struct journal_segment *segment)
{
    for (const struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        if (!journal_segment_is_acked(segment, cursor))
            return false;
    return journal->cursors != NULL;
}

/* A reader has received entries of it that it may still acknowledge. */
static bool is_in_flight(const struct journal *journal, const struct journal_segment *segment)
{
    for (const struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        if (cursor->is_open && cursor->delivered > cursor->acked && segment->base <= cursor->delivered &&
            segment->end > cursor->acked && segment->last > cursor->acked)
            return true;
    return false;
}

static void mark(struct journal_segment *segment, enum journal_reason reason)
{
    segment->is_deleting = true;
    segment->reason = reason;
}

static void mark_acked(struct journal *journal)
{
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (acked_by_all(journal, segment))
            mark(segment, JOURNAL_TOO_MUCH);
}

static void mark_old(struct journal *journal)
{
    uint64_t age_ns = journal->age_max_ns;
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (age_ns && journal->now_ns - segment->newest_ns > age_ns && !segment->is_deleting &&
            !is_in_flight(journal, segment))
            mark(segment, JOURNAL_TOO_OLD);
}

/* The oldest segment without entries in flight; if all have some, the oldest. */
static struct journal_segment *next_victim(const struct journal *journal)
{
    struct journal_segment *in_flight = NULL;
    for (struct journal_segment *segment = journal->oldest; segment && segment != journal->active; segment = segment->next) {
        if (segment->is_deleting)
            continue;
        if (!is_in_flight(journal, segment))
            return segment;
        in_flight = in_flight ? in_flight : segment;
    }
    return in_flight;
}

static void mark_excess(struct journal *journal, uint64_t bytes)
{
    uint64_t left = journal->bytes;
    for (const struct journal_segment *segment = journal->oldest; segment; segment = segment->next)
        left -= segment->is_deleting ? segment->end - segment->base : 0;
    struct journal_segment *victim;
    while (left > bytes && (victim = next_victim(journal))) {
        mark(victim, JOURNAL_TOO_MUCH);
        left -= victim->end - victim->base;
    }
}

/* Counts the records of a segment after a position, per stream. */
static enum err count_lost(struct journal *journal, const struct journal_segment *segment, uint64_t after,
                           struct journal_streams *lost)
{
    struct journal_scan scan;
    struct journal_entry entry;
    char name[JOURNAL_FILE_NAME_MAX];
    journal_segment_name(name, segment->base);
    journal_scan_init(&scan);
    enum err err = journal_scan_open(&scan, journal->directory, name, segment->base, segment->end);
    while (!err && (err = journal_scan_next(&scan, &entry)) != GONE) {
        struct journal_stream *stream;
        if (err == CORRUPT || (!err && (entry.kind != JOURNAL_RECORD || entry.position <= after))) {
            err = OK;
            continue;
        }
        if (!err)
            err = journal_streams_get(lost, entry.host, entry.stream, &stream);
        if (err)
            break;
        stream->records++;
        stream->last = entry.sequence;
        stream->from_ns = stream->from_ns ? stream->from_ns : entry.time_ns;
        stream->to_ns = entry.time_ns ? entry.time_ns : stream->to_ns;
    }
    journal_scan_clear(&scan);
    return err == GONE ? OK : err;
}

/* The end of the last segment before this one that stays: gaps after it can be merged into one. */
static uint64_t kept_before(const struct journal *journal, const struct journal_segment *until)
{
    uint64_t kept = 0;
    for (const struct journal_segment *segment = journal->oldest; segment != until; segment = segment->next)
        kept = segment->is_deleting ? kept : segment->end;
    return kept;
}

static enum err add_gaps(struct journal *journal, struct journal_cursor *cursor, const struct journal_segment *segment,
                         const struct journal_streams *lost, uint64_t *records)
{
    uint64_t kept = kept_before(journal, segment), after = cursor->acked > segment->base ? cursor->acked : segment->base;
    *records = 0;
    enum err err = OK;
    for (size_t i = 0; !err && i < lost->count; i++) {
        const struct journal_stream *stream = &lost->all[i];
        const struct journal_gap gap = {
            .host = stream->host, .stream = stream->stream, .records = stream->records, .sequence = stream->last,
            .from_ns = stream->from_ns, .to_ns = stream->to_ns, .reason = segment->reason, .after = after,
            .up_to = segment->end,
        };
        err = journal_cursor_add_gap(cursor, &gap, kept);
        *records += stream->records;
    }
    journal_cursor_place_gaps(cursor, segment->end);
    return err;
}

/* Adds to the cursor's gaps what its reader loses with a segment. */
static enum err add_loss(struct journal *journal, struct journal_cursor *cursor, const struct journal_segment *segment,
                         uint64_t *records)
{
    struct journal_streams lost;
    *records = 0;
    pthread_mutex_lock(&journal->lock);
    uint64_t after = cursor->acked;
    bool has_no_loss = journal_segment_is_acked(segment, cursor) || journal_cursor_has_gap(cursor, segment->end);
    pthread_mutex_unlock(&journal->lock);
    if (has_no_loss)
        return OK;
    journal_streams_init(&lost);
    enum err err = count_lost(journal, segment, after, &lost);
    pthread_mutex_lock(&journal->lock);
    if (!err)
        err = add_gaps(journal, cursor, segment, &lost, records);
    pthread_mutex_unlock(&journal->lock);
    journal_streams_clear(&lost);
    return err;
}

static void warn_once(struct journal *journal, const char *what, enum err err)
{
    if (!journal->has_warned)
        log_warn("journal: cannot %s: %s; will retry", what, err_text(err));
    journal->has_warned = true;
}

/* If the loss cannot be counted, the segment is kept. */
static void add_all_losses(struct journal *journal, struct journal_segment *segment)
{
    uint64_t peak = 0, records;
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next) {
        enum err err = add_loss(journal, cursor, segment, &records);
        if (err) {
            warn_once(journal, "count the entries of a segment to delete", err);
            segment->is_deleting = false;
        }
        peak = records > peak ? records : peak;
    }
    pthread_mutex_lock(&journal->lock);
    journal->lost_records += peak;
    pthread_mutex_unlock(&journal->lock);
}

/* Saves what must outlive the segments: the last sequence of each stream, and the gaps of each reader. */
static enum err save_lists(struct journal *journal)
{
    uint64_t forget_ns = journal->now_ns > FORGET_NS ? journal->now_ns - FORGET_NS : 0;
    enum err err = journal_streams_save(&journal->streams, journal->directory, forget_ns);
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next) {
        pthread_mutex_lock(&journal->lock);
        struct buf gaps;
        bool has_gaps = journal_cursor_pack_gaps(cursor, &gaps);
        pthread_mutex_unlock(&journal->lock);
        enum err failed = has_gaps ? journal_cursor_save_gaps(cursor, journal->directory, &gaps) : OK;
        err = err ? err : failed;
    }
    return err;
}

/* The last deleted one becomes the spare. */
static void delete_file(struct journal *journal, struct journal_segment **at)
{
    char name[JOURNAL_FILE_NAME_MAX];
    struct journal_segment *segment = *at;
    journal_segment_name(name, segment->base);
    unlinkat(journal->directory, name, 0);
    if (segment->fd >= 0)
        close(segment->fd);
    pthread_mutex_lock(&journal->lock);
    *at = segment->next;
    journal->bytes -= segment->end - segment->base;
    journal->removals++;
    pthread_mutex_unlock(&journal->lock);
    free(journal->spare);
    journal->spare = segment;
}

static void delete_marked_files(struct journal *journal)
{
    for (struct journal_segment **at = &journal->oldest; *at != journal->active;) {
        if ((*at)->is_deleting)
            delete_file(journal, at);
        else
            at = &(*at)->next;
    }
    fsync(journal->directory);
}

static bool has_marked(const struct journal *journal)
{
    for (const struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (segment->is_deleting)
            return true;
    return false;
}

static void unmark_all(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    for (struct journal_segment *segment = journal->oldest; segment; segment = segment->next)
        segment->is_deleting = false;
    pthread_mutex_unlock(&journal->lock);
}

/* Syncs first: the saved list of streams must not contain records that a crash could still lose. If the disk is full,
 * the lists are saved again after the deletion has freed space. */
static void delete_marked(struct journal *journal)
{
    enum err err = journal_sync_locked(journal);
    if (err) {
        warn_once(journal, "sync to disk", err);
        unmark_all(journal);
        return;
    }
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (segment->is_deleting)
            add_all_losses(journal, segment);
    journal->is_unsaved = save_lists(journal) != OK;
    delete_marked_files(journal);
    if (journal->is_unsaved) {
        err = save_lists(journal);
        journal->is_unsaved = err != OK;
        if (err)
            warn_once(journal, "save the list of lost records", err);
    }
    pthread_mutex_lock(&journal->lock);
    journal_wake(journal);
    pthread_mutex_unlock(&journal->lock);
}

void journal_shrink(struct journal *journal, uint64_t bytes)
{
    pthread_mutex_lock(&journal->sync_lock);
    pthread_mutex_lock(&journal->lock);
    mark_excess(journal, bytes);
    bool is_any = has_marked(journal);
    pthread_mutex_unlock(&journal->lock);
    if (is_any)
        delete_marked(journal);
    pthread_mutex_unlock(&journal->sync_lock);
}

/* Segments that are in a gap but still exist: the process ended between the two. */
void journal_retention_resume(struct journal *journal)
{
    bool is_any = false;
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        for (const struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
            if (journal_cursor_has_gap(cursor, segment->end)) {
                mark(segment, JOURNAL_TOO_MUCH);
                is_any = true;
            }
    if (is_any)
        delete_marked(journal);
}

/* After the clock was set back nothing may be newer than now. */
static void set_clock(struct journal *journal, uint64_t now_ns)
{
    journal->now_ns = now_ns;
    for (struct journal_segment *segment = journal->oldest; segment; segment = segment->next) {
        segment->newest_ns = segment->newest_ns < now_ns ? segment->newest_ns : now_ns;
        segment->started_ns = segment->started_ns < now_ns ? segment->started_ns : now_ns;
    }
}

/* Only ended segments can be deleted. */
static bool should_end(const struct journal *journal)
{
    const struct journal_segment *active = journal->active;
    uint64_t bytes = active->end - active->base, age_ns = journal->age_max_ns;
    if (journal->is_full && active->records && acked_by_all(journal, active))
        return true; /* the disk is full of acknowledged entries: delete them to make space */
    if (journal->newest_kind != JOURNAL_RECORD || active->records == 0)
        return false;
    if (bytes >= journal_segment_limit(journal, active))
        return true;
    if (age_ns && journal->now_ns - active->started_ns >= age_ns / AGE_PARTS)
        return true;
    return bytes >= END_ACKED_BYTES && bytes >= active->snapshot_bytes * END_ACKED_SNAPSHOTS &&
           acked_by_all(journal, active);
}

static void save_cursors(struct journal *journal)
{
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        journal_cursor_save(cursor, journal->directory);
}

/* Without this, a journal that is never synced would keep them all open. */
static void close_ended(struct journal *journal)
{
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next) {
        if (segment->fd >= 0)
            close(segment->fd);
        segment->fd = -1;
    }
}

/* Marks what is to be deleted. Both locks are held. Returns whether there is anything. */
static bool mark_all(struct journal *journal)
{
    uint64_t reserve = journal_segment_limit(journal, journal->active), bytes = journal->bytes_max;
    mark_acked(journal);
    mark_old(journal);
    mark_excess(journal, bytes > reserve ? bytes - reserve : 0);
    return has_marked(journal);
}

void journal_maintain(struct journal *journal, uint64_t now_ns)
{
    pthread_mutex_lock(&journal->lock);
    set_clock(journal, now_ns);
    save_cursors(journal);
    bool must_end = should_end(journal);
    pthread_mutex_unlock(&journal->lock);
    if (must_end)
        journal_segment_start(journal, journal->active->end); /* on failure retried next time */
    if (!journal->spare)
        journal->spare = malloc(sizeof *journal->spare);

    /* Another thread is syncing, which may take long, and the writer must not wait: retry next time. */
    if (pthread_mutex_trylock(&journal->sync_lock) != 0) {
        journal_segment_write_header(journal);
        return;
    }
    pthread_mutex_lock(&journal->lock);
    bool is_any = mark_all(journal);
    close_ended(journal);
    pthread_mutex_unlock(&journal->lock);
    if (is_any || journal->is_unsaved)
        delete_marked(journal);
    pthread_mutex_unlock(&journal->sync_lock);
    journal_segment_write_header(journal);
}
