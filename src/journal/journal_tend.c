/* Looks after a journal: saves cursors, ends segments, removes what all have read, what is too old and what is too much.
 * What somebody had not read is counted from the file, stream by stream, and stands in his gaps, durable, before the file
 * goes. */
#include "journal/journal_segment.h"

#include "base/log.h"

#include <stdlib.h>
#include <unistd.h>

#include <sys/eventfd.h>

#define ENDED_WHEN_DONE_BYTES (1u << 20) /* what all have read need not stay on the disk of a node */
#define ENDED_WHEN_DONE_STATES 8         /* … but states are not written for nothing */
#define AGE_PARTS 8
#define FORGET_NS (90ull * 86400 * 1000000000) /* a stream that ended so long ago is not sent again */

void journal_wake(struct journal *journal)
{
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        if (cursor->is_waiting) {
            cursor->is_waiting = false;
            eventfd_write(cursor->wake_fd, 1);
        }
}

static bool all_done(const struct journal *journal, const struct journal_segment *segment)
{
    for (const struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        if (!journal_segment_is_done(segment, cursor))
            return false;
    return journal->cursors;
}

/* Somebody has entries of it in his hands, and may still be done with them. */
static bool is_in_hands(const struct journal *journal, const struct journal_segment *segment)
{
    for (const struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        if (cursor->is_open && cursor->handed > cursor->done && segment->base <= cursor->handed &&
            segment->end > cursor->done && segment->last > cursor->done)
            return true;
    return false;
}

static void doom(struct journal_segment *segment, enum journal_reason reason)
{
    segment->is_doomed = true;
    segment->reason = reason;
}

static void doom_done(struct journal *journal)
{
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (all_done(journal, segment))
            doom(segment, JOURNAL_TOO_MUCH);
}

static void doom_old(struct journal *journal)
{
    uint64_t age_ns = journal->age_max_ns;
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (age_ns && journal->now_ns - segment->newest_ns > age_ns && !segment->is_doomed &&
            !is_in_hands(journal, segment))
            doom(segment, JOURNAL_TOO_OLD);
}

/* The oldest that nobody holds; when there is none, the oldest. */
static struct journal_segment *next_victim(const struct journal *journal)
{
    struct journal_segment *held = NULL;
    for (struct journal_segment *segment = journal->oldest; segment && segment != journal->active; segment = segment->next) {
        if (segment->is_doomed)
            continue;
        if (!is_in_hands(journal, segment))
            return segment;
        held = held ? held : segment;
    }
    return held;
}

static void doom_much(struct journal *journal, uint64_t bytes)
{
    uint64_t left = journal->bytes;
    for (const struct journal_segment *segment = journal->oldest; segment; segment = segment->next)
        left -= segment->is_doomed ? segment->end - segment->base : 0;
    struct journal_segment *victim;
    while (left > bytes && (victim = next_victim(journal))) {
        doom(victim, JOURNAL_TOO_MUCH);
        left -= victim->end - victim->base;
    }
}

/* Counts by stream what stands in a segment behind a position. */
static enum err count_lost(struct journal *journal, const struct journal_segment *segment, uint64_t after,
                           struct journal_streams *lost)
{
    struct journal_scan scan;
    struct journal_entry entry;
    char name[JOURNAL_FILE_ROOM];
    journal_segment_name(name, segment->base);
    journal_scan_init(&scan);
    enum err err = journal_scan_open(&scan, journal->folder, name, segment->base, segment->end);
    while (!err && (err = journal_scan_next(&scan, &entry)) != GONE) {
        struct journal_stream *stream;
        if (err == CORRUPT || (!err && (entry.kind != JOURNAL_RECORD || entry.position <= after))) {
            err = OK;
            continue;
        }
        if (!err)
            err = journal_streams_add(lost, entry.host, entry.stream, &stream);
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

/* Where the last segment before this one ends that stays: gaps behind it can be told as one. */
static uint64_t kept_before(const struct journal *journal, const struct journal_segment *until)
{
    uint64_t kept = 0;
    for (const struct journal_segment *segment = journal->oldest; segment != until; segment = segment->next)
        kept = segment->is_doomed ? kept : segment->end;
    return kept;
}

static enum err add_gaps(struct journal *journal, struct journal_cursor *cursor, const struct journal_segment *segment,
                         const struct journal_streams *lost, uint64_t *records)
{
    uint64_t kept = kept_before(journal, segment), after = cursor->done > segment->base ? cursor->done : segment->base;
    *records = 0;
    enum err err = OK;
    for (size_t i = 0; !err && i < lost->count; i++) {
        const struct journal_stream *stream = &lost->all[i];
        const struct journal_gap gap = {
            .host = stream->host, .stream = stream->stream, .records = stream->records, .sequence = stream->last,
            .from_ns = stream->from_ns, .to_ns = stream->to_ns, .reason = segment->reason, .after = after,
            .upto = segment->end,
        };
        err = journal_cursor_add_gap(cursor, &gap, kept);
        *records += stream->records;
    }
    journal_cursor_place_gaps(cursor, segment->end);
    return err;
}

/* What this reader loses with a segment. */
static enum err charge(struct journal *journal, struct journal_cursor *cursor, const struct journal_segment *segment,
                       uint64_t *records)
{
    struct journal_streams lost;
    *records = 0;
    pthread_mutex_lock(&journal->lock);
    uint64_t after = cursor->done;
    bool is_free = journal_segment_is_done(segment, cursor) || journal_cursor_has_gap(cursor, segment->end);
    pthread_mutex_unlock(&journal->lock);
    if (is_free)
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

static void complain(struct journal *journal, const char *what, enum err err)
{
    if (!journal->has_complained)
        log_warn("the journal cannot %s: %s; it is tried again", what, err_text(err));
    journal->has_complained = true;
}

/* Where what is lost cannot be counted the segment stays. */
static void charge_all(struct journal *journal, struct journal_segment *segment)
{
    uint64_t most = 0, records;
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next) {
        enum err err = charge(journal, cursor, segment, &records);
        if (err) {
            complain(journal, "count what it has to remove", err);
            segment->is_doomed = false;
        }
        most = records > most ? records : most;
    }
    pthread_mutex_lock(&journal->lock);
    journal->lost_records += most;
    pthread_mutex_unlock(&journal->lock);
}

/* What must be known for ever of what goes: how far its streams were, and who misses what. */
static enum err save_lists(struct journal *journal)
{
    uint64_t forget_ns = journal->now_ns > FORGET_NS ? journal->now_ns - FORGET_NS : 0;
    enum err err = journal_streams_save(&journal->streams, journal->folder, forget_ns);
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next) {
        pthread_mutex_lock(&journal->lock);
        struct buf gaps;
        bool has_gaps = journal_cursor_pack_gaps(cursor, &gaps);
        pthread_mutex_unlock(&journal->lock);
        enum err failed = has_gaps ? journal_cursor_save_gaps(cursor, journal->folder, &gaps) : OK;
        err = err ? err : failed;
    }
    return err;
}

/* The last one becomes the spare. */
static void drop(struct journal *journal, struct journal_segment **at)
{
    char name[JOURNAL_FILE_ROOM];
    struct journal_segment *segment = *at;
    journal_segment_name(name, segment->base);
    unlinkat(journal->folder, name, 0);
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

static void drop_doomed(struct journal *journal)
{
    for (struct journal_segment **at = &journal->oldest; *at != journal->active;) {
        if ((*at)->is_doomed)
            drop(journal, at);
        else
            at = &(*at)->next;
    }
    fsync(journal->folder);
}

static bool has_doomed(const struct journal *journal)
{
    for (const struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (segment->is_doomed)
            return true;
    return false;
}

static void spare_all(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    for (struct journal_segment *segment = journal->oldest; segment; segment = segment->next)
        segment->is_doomed = false;
    pthread_mutex_unlock(&journal->lock);
}

/* Everything is synced first: the list of streams must not know of records that a crash of the machine could take. On a full
 * disk the lists are written after there is room again. */
static void remove_doomed(struct journal *journal)
{
    enum err err = journal_sync_held(journal);
    if (err) {
        complain(journal, "be written to the disk", err);
        spare_all(journal);
        return;
    }
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        if (segment->is_doomed)
            charge_all(journal, segment);
    journal->is_unsaved = save_lists(journal) != OK;
    drop_doomed(journal);
    if (journal->is_unsaved) {
        err = save_lists(journal);
        journal->is_unsaved = err != OK;
        if (err)
            complain(journal, "write down what it has removed", err);
    }
    pthread_mutex_lock(&journal->lock);
    journal_wake(journal);
    pthread_mutex_unlock(&journal->lock);
}

void journal_shrink(struct journal *journal, uint64_t bytes)
{
    pthread_mutex_lock(&journal->sync_lock);
    pthread_mutex_lock(&journal->lock);
    doom_much(journal, bytes);
    bool is_any = has_doomed(journal);
    pthread_mutex_unlock(&journal->lock);
    if (is_any)
        remove_doomed(journal);
    pthread_mutex_unlock(&journal->sync_lock);
}

/* A segment that was counted as lost and is still there: the process ended between the two. */
void journal_tend_resume(struct journal *journal)
{
    bool is_any = false;
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next)
        for (const struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
            if (journal_cursor_has_gap(cursor, segment->end)) {
                doom(segment, JOURNAL_TOO_MUCH);
                is_any = true;
            }
    if (is_any)
        remove_doomed(journal);
}

/* A clock that was set back makes nothing younger than now. */
static void set_clock(struct journal *journal, uint64_t now_ns)
{
    journal->now_ns = now_ns;
    for (struct journal_segment *segment = journal->oldest; segment; segment = segment->next) {
        segment->newest_ns = segment->newest_ns < now_ns ? segment->newest_ns : now_ns;
        segment->began_ns = segment->began_ns < now_ns ? segment->began_ns : now_ns;
    }
}

/* Only a segment that has ended can be removed. */
static bool should_end(const struct journal *journal)
{
    const struct journal_segment *active = journal->active;
    uint64_t bytes = active->end - active->base, age_ns = journal->age_max_ns;
    if (journal->is_full && active->records && all_done(journal, active))
        return true; /* what all have read is in the way of what is read next */
    if (journal->newest_kind != JOURNAL_RECORD || active->records == 0)
        return false;
    if (bytes >= journal_segment_limit(journal, active))
        return true;
    if (age_ns && journal->now_ns - active->began_ns >= age_ns / AGE_PARTS)
        return true;
    return bytes >= ENDED_WHEN_DONE_BYTES && bytes >= active->state_bytes * ENDED_WHEN_DONE_STATES &&
           all_done(journal, active);
}

static void save_cursors(struct journal *journal)
{
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        journal_cursor_save(cursor, journal->folder);
}

/* Whoever never syncs would keep them all open. */
static void close_ended(struct journal *journal)
{
    for (struct journal_segment *segment = journal->oldest; segment != journal->active; segment = segment->next) {
        if (segment->fd >= 0)
            close(segment->fd);
        segment->fd = -1;
    }
}

/* Chooses what goes. With both locks held. Returns whether there is anything. */
static bool doom_all(struct journal *journal)
{
    uint64_t room = journal_segment_limit(journal, journal->active), bytes = journal->bytes_max;
    doom_done(journal);
    doom_old(journal);
    doom_much(journal, bytes > room ? bytes - room : 0);
    return has_doomed(journal);
}

void journal_tend(struct journal *journal, uint64_t now_ns)
{
    pthread_mutex_lock(&journal->lock);
    set_clock(journal, now_ns);
    save_cursors(journal);
    bool is_over = should_end(journal);
    pthread_mutex_unlock(&journal->lock);
    if (is_over)
        journal_segment_begin(journal, journal->active->end); /* where that fails it is tried again the next time */
    if (!journal->spare)
        journal->spare = malloc(sizeof *journal->spare);

    /* Somebody waits for the disk: that may take long, and whoever writes has other things to do. The next time. */
    if (pthread_mutex_trylock(&journal->sync_lock) != 0) {
        journal_segment_mend(journal);
        return;
    }
    pthread_mutex_lock(&journal->lock);
    bool is_any = doom_all(journal);
    close_ended(journal);
    pthread_mutex_unlock(&journal->lock);
    if (is_any || journal->is_unsaved)
        remove_doomed(journal);
    pthread_mutex_unlock(&journal->sync_lock);
    journal_segment_mend(journal);
}
