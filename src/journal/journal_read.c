/* Readers of a journal. Each goes through the segments with a window of its own; what it was given and what is removed is
 * settled under the journal's lock, so that an entry is either read or counted as missing, never both. */
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
    struct journal_damage damage;    /* that was met, until it is passed */
    struct journal_segment *segment; /* valid while removals is as in the journal */
    uint64_t base, removals;         /* of the segment that scan is in */
    uint64_t first;                  /* base of the segment that it began with: it knows none of the states before */
    uint64_t at;                     /* where to begin when there is no segment */
    bool has_segment;
    bool is_armed; /* the eventfd may have something */
    int fd;
    char host[JOURNAL_HOST_MAX]; /* of a gap that was told */
};

static struct journal_cursor *find_cursor(const struct journal *journal, const char *name)
{
    struct journal_cursor *cursor = journal->cursors;
    while (cursor && strcmp(cursor->name, name) != 0)
        cursor = cursor->next;
    return cursor;
}

/* What is being removed right now is not for somebody who comes now. */
static uint64_t oldest_kept(const struct journal *journal)
{
    const struct journal_segment *segment = journal->oldest;
    while (segment->is_doomed && segment->next)
        segment = segment->next;
    return segment->base;
}

static enum err take_cursor(struct journal *journal, struct journal_reader *reader, const char *name, bool from_start,
                            uint64_t from)
{
    struct journal_cursor *cursor = find_cursor(journal, name);
    if (cursor && cursor->is_open)
        return AGAIN;
    uint64_t newest = journal_newest(journal);
    if (!cursor) {
        enum err err = journal_cursor_make(&cursor, journal->folder, name, from_start ? oldest_kept(journal) : newest);
        if (err)
            return err;
        cursor->next = journal->cursors;
        journal->cursors = cursor;
    }
    if (from) /* beyond the newest: what followed was lost with the machine, and comes again */
        cursor->done = from < newest ? from : newest;
    cursor->handed = cursor->done;
    cursor->is_open = true;
    cursor->wake_fd = reader->fd;
    cursor->recent_count = 0;
    reader->cursor = cursor;
    reader->at = cursor->done;
    return OK;
}

enum err journal_read(struct journal *journal, struct journal_reader **reader, const char *name, bool from_start,
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
        err = take_cursor(journal, *reader, name, from_start, from);
        pthread_mutex_unlock(&journal->lock);
    }
    if (err)
        journal_read_close(reader);
    return err;
}

void journal_read_close(struct journal_reader **reader)
{
    if (!*reader)
        return;
    struct journal_cursor *cursor = (*reader)->cursor;
    if (cursor) {
        pthread_mutex_lock(&(*reader)->journal->lock);
        cursor->is_open = cursor->is_waiting = false;
        cursor->wake_fd = -1;
        cursor->handed = cursor->done;
        for (size_t i = 0; i < cursor->gap_count; i++)
            cursor->gaps[i].is_told = false; /* those that are left were not done */
        journal_cursor_save(cursor, (*reader)->journal->folder);
        pthread_mutex_unlock(&(*reader)->journal->lock);
    }
    journal_scan_clear(&(*reader)->scan);
    journal_damage_clear(&(*reader)->damage);
    if ((*reader)->fd >= 0)
        close((*reader)->fd);
    free(*reader);
    *reader = NULL;
}

/* Cursors are freed only with sync_lock: the thread that writes goes through them without lock when it removes. */
void journal_forget(struct journal *journal, const char *name)
{
    pthread_mutex_lock(&journal->sync_lock);
    pthread_mutex_lock(&journal->lock);
    struct journal_cursor **at = &journal->cursors, *cursor = NULL;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at && !(*at)->is_open) {
        cursor = *at;
        *at = cursor->next;
        journal_cursor_remove(journal->folder, name);
        journal_cursor_remove_note(journal->folder, name);
    }
    pthread_mutex_unlock(&journal->lock);
    pthread_mutex_unlock(&journal->sync_lock);
    journal_cursor_free(&cursor);
}

enum err journal_note_save(const struct journal *journal, const char *name, struct buf *note)
{
    return journal_cursor_save_note(journal->folder, name, note);
}

enum err journal_note_load(const struct journal *journal, const char *name, struct buf *note, struct bytes *content)
{
    return journal_cursor_load_note(journal->folder, name, note, content);
}

/* The name of one that may go. */
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

void journal_forget_unwanted(struct journal *journal, bool (*is_wanted)(const void *context, const char *name),
                             const void *context)
{
    char name[JOURNAL_NAME_MAX];
    while (find_unwanted(journal, is_wanted, context, name)) {
        log_info("the sink of the cursor %s is not there any more: nothing is kept for it", name);
        journal_forget(journal, name);
    }
}

/* The segment that the reader is in; NULL: it is in none, or it was removed. */
static struct journal_segment *current(struct journal_reader *reader)
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

enum step { STEP_READ, STEP_ENTER, STEP_TELL, STEP_WAIT };

/* What comes next, with the lock held. *segment: to read on in, or to enter. */
static enum step next_step(struct journal_reader *reader, struct journal_segment **segment)
{
    const struct journal *journal = reader->journal;
    uint64_t coming = journal->active->end;
    enum step step = STEP_WAIT;
    *segment = current(reader);
    if (!*segment) {
        *segment = journal_segment_at(journal, reader->at);
        coming = *segment ? (*segment)->base : coming;
        step = *segment ? STEP_ENTER : STEP_WAIT;
    } else if (reader->scan.at < journal_segment_visible(journal, *segment)) {
        coming = reader->scan.at;
        step = STEP_READ;
    } else if ((*segment)->next && reader->scan.at >= (*segment)->end) {
        *segment = (*segment)->next;
        coming = (*segment)->base;
        step = STEP_ENTER;
    }
    const struct journal_gap *gap = journal_cursor_untold(reader->cursor);
    if (journal_damage_untold(&reader->damage, reader->scan.at) || (gap && gap->position < coming))
        return STEP_TELL;
    return *segment && (*segment)->is_doomed ? STEP_WAIT : step;
}

static void tell(struct journal_reader *reader, struct journal_entry *entry)
{
    struct journal_wound *wound = journal_damage_untold(&reader->damage, reader->scan.at);
    struct journal_gap *gap = wound ? &wound->gap : journal_cursor_untold(reader->cursor);
    gap->is_told = gap->is_final = true;
    if (wound)
        wound->is_told = true;
    journal_cursor_hand(reader->cursor, gap->position, gap->to_ns);
    snprintf(reader->host, sizeof reader->host, "%s", gap->host);
    *entry = (struct journal_entry){
        .kind = JOURNAL_GAP, .host = reader->host, .stream = gap->stream, .sequence = gap->sequence,
        .time_ns = gap->to_ns,
        .position = gap->position, .is_new = true, .gap_from_ns = gap->from_ns, .gap_to_ns = gap->to_ns,
        .gap_records = gap->records, .gap_reason = journal_reason_text(gap->reason),
    };
}

/* Opens a segment, without the lock. That it is gone by now is found at the next step. */
static enum err enter(struct journal_reader *reader, uint64_t base, uint64_t end)
{
    char name[JOURNAL_FILE_ROOM];
    journal_segment_name(name, base);
    enum err err = journal_scan_open(&reader->scan, reader->journal->folder, name, base, end);
    reader->has_segment = !err;
    reader->base = base;
    reader->first = reader->first ? reader->first : base;
    reader->removals = UINT64_MAX;
    reader->at = base;
    return err == ABSENT ? OK : err;
}

/* With the lock held at its beginning and its end. The damage ends where scan stands. */
static enum err assess(struct journal_reader *reader)
{
    struct journal *journal = reader->journal;
    struct journal_span spans[3] = { 0 };
    const struct journal_segment *segment = current(reader), *before = NULL;
    uint64_t to = reader->scan.at, from = to - reader->scan.damaged_bytes, handed = reader->cursor->handed;
    if (!segment || segment->is_doomed)
        return CORRUPT; /* what was behind it is counted there */
    for (before = journal->oldest; before != segment && before->next != segment;)
        before = before->next;
    if (before != segment && reader->first != segment->base)
        spans[0] = (struct journal_span){ before->base, before->end };
    spans[1] = (struct journal_span){ segment->base, journal_segment_visible(journal, segment) };
    if (segment->next)
        spans[2] = (struct journal_span){ segment->next->base, journal_segment_visible(journal, segment->next) };
    pthread_mutex_unlock(&journal->lock);
    enum err err = journal_damage_assess(&reader->damage, journal->folder, spans, from, to, handed);
    pthread_mutex_lock(&journal->lock);
    const struct journal_wound *wound = journal_damage_untold(&reader->damage, from);
    if (wound) /* in its hands from now on */
        journal_cursor_hand(reader->cursor, wound->gap.position, wound->gap.to_ns);
    return err ? err : CORRUPT;
}

/* Settles that an entry is given out, unless its segment is being removed: then it is not. */
static bool hand_out(struct journal_reader *reader, struct journal_entry *entry)
{
    const struct journal_segment *segment = current(reader);
    if (!segment || segment->is_doomed) {
        reader->scan.at = entry->position;
        reader->at = entry->position;
        return false;
    }
    entry->is_new = entry->position > reader->cursor->handed;
    if (entry->kind == JOURNAL_RECORD)
        journal_cursor_hand(reader->cursor, entry->position, entry->time_ns);
    return true;
}

static void disarm(struct journal_reader *reader)
{
    eventfd_t count;
    if (!reader->is_armed)
        return;
    pthread_mutex_lock(&reader->journal->lock);
    reader->cursor->is_waiting = false;
    pthread_mutex_unlock(&reader->journal->lock);
    eventfd_read(reader->fd, &count);
    reader->is_armed = false;
}

/* One step, with the lock held at its beginning and its end. GONE: there must be another one. */
static enum err take_step(struct journal_reader *reader, struct journal_entry *entry)
{
    pthread_mutex_t *lock = &reader->journal->lock;
    struct journal_segment *segment;
    enum step step = next_step(reader, &segment);
    if (step == STEP_TELL) {
        tell(reader, entry);
        return OK;
    }
    if (step == STEP_WAIT) {
        reader->cursor->is_waiting = reader->is_armed = true;
        return AGAIN;
    }
    uint64_t base = segment->base;
    reader->scan.end = journal_segment_visible(reader->journal, segment);
    uint64_t end = reader->scan.end;
    pthread_mutex_unlock(lock);
    enum err err = step == STEP_ENTER ? enter(reader, base, end) : journal_scan_next(&reader->scan, entry);
    pthread_mutex_lock(lock);
    if (step == STEP_ENTER)
        return err ? err : GONE;
    if (err)
        return err == CORRUPT ? assess(reader) : err;
    if (entry->kind != JOURNAL_RECORD && entry->kind != JOURNAL_STATE)
        return GONE; /* of a version to come */
    if (journal_damage_hits(&reader->damage, entry))
        return GONE;
    return hand_out(reader, entry) ? OK : GONE;
}

enum err journal_next(struct journal_reader *reader, struct journal_entry *entry)
{
    disarm(reader);
    pthread_mutex_lock(&reader->journal->lock);
    enum err err;
    do
        err = take_step(reader, entry);
    while (err == GONE);
    pthread_mutex_unlock(&reader->journal->lock);
    return err;
}

uint64_t journal_segment(const struct journal_reader *reader)
{
    return reader->base;
}

int journal_fd(const struct journal_reader *reader)
{
    return reader->fd;
}

enum err journal_done(struct journal_reader *reader, uint64_t position)
{
    pthread_mutex_lock(&reader->journal->lock);
    journal_cursor_done(reader->cursor, position);
    pthread_mutex_unlock(&reader->journal->lock);
    return OK;
}

uint64_t journal_lag_bytes(const struct journal_reader *reader)
{
    struct journal *journal = reader->journal;
    uint64_t lag = 0;
    pthread_mutex_lock(&journal->lock);
    uint64_t done = reader->cursor->done;
    for (const struct journal_segment *segment = journal->oldest; segment; segment = segment->next)
        if (!journal_segment_is_done(segment, reader->cursor))
            lag += segment->end - (done > segment->base ? done : segment->base);
    pthread_mutex_unlock(&journal->lock);
    return lag;
}

uint64_t journal_lag_ns(const struct journal_reader *reader, uint64_t now_ns)
{
    struct journal *journal = reader->journal;
    const struct journal_cursor *cursor = reader->cursor;
    uint64_t time_ns = 0;
    pthread_mutex_lock(&journal->lock);
    const struct journal_segment *segment = journal->oldest;
    while (segment && journal_segment_is_done(segment, cursor))
        segment = segment->next;
    if (segment) /* the time of the next one is not known until it was read: that of the one before it, or of the first */
        time_ns = cursor->recent_count ? cursor->recent[0].time_ns : cursor->done_ns ? cursor->done_ns : segment->oldest_ns;
    pthread_mutex_unlock(&journal->lock);
    return time_ns && now_ns > time_ns ? now_ns - time_ns : 0;
}
