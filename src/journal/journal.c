/* Opening, writing and syncing a journal. Entries come from the agent's stream or from the collector's peers; readers
 * (journal_reader.c) read them from the same files, journal_retention.c deletes them. */
#include "journal/journal.h"

#include "base/clock.h"
#include "base/log.h"
#include "journal/journal_blob.h"
#include "journal/journal_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ID_FILE "id"
#define LOCK_TRIES 20
#define LOCK_PAUSE_NS 50000000

/* Creates the directory and its parents. */
static enum err create_directory(const char *dir)
{
    char path[PATH_MAX];
    size_t size = strnlen(dir, sizeof path);
    if (size == 0 || size >= sizeof path)
        return USAGE;
    memcpy(path, dir, size + 1);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return err_from_errno(errno);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? OK : err_from_errno(errno);
}

/* Retries for a while: a process that was just killed may still be exiting. */
static bool take_lock(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
    }
    return false;
}

static enum err open_directory(struct journal *journal, const char *dir, struct buf *error)
{
    enum err err = create_directory(dir);
    if (!err) {
        journal->directory = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        err = journal->directory < 0 ? err_from_errno(errno) : OK;
    }
    if (!err) {
        journal->lock_fd = openat(journal->directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        err = journal->lock_fd < 0 ? err_from_errno(errno) : OK;
    }
    if (err) {
        buf_printf(error, "cannot open the journal %s: %s", dir, err_text(err));
        return err;
    }
    if (take_lock(journal->lock_fd))
        return OK;
    buf_printf(error, "the journal %s is in use by another process", dir);
    return AGAIN;
}

/* A cursor that cannot be read restarts at the oldest entry: delivering twice is better than never. */
static enum err load_cursor(struct journal *journal, const char *file)
{
    char name[JOURNAL_NAME_MAX];
    struct journal_cursor *cursor;
    if (!journal_cursor_name(file, name))
        return OK;
    enum err err = journal_cursor_load(&cursor, journal->directory, name);
    if (err == CORRUPT) {
        log_warn("journal cursor %s is damaged; its reader restarts at the oldest entry", name);
        err = journal_cursor_create(&cursor, journal->directory, name, journal->oldest->base);
    }
    if (err)
        return err;
    /* Beyond the end: the acknowledged entries did not reach the disk before the node went down. */
    uint64_t newest = journal_newest(journal);
    if (cursor->acked > newest)
        cursor->acked = cursor->delivered = newest;
    cursor->next = journal->cursors;
    journal->cursors = cursor;
    return OK;
}

static uint64_t random_number(void)
{
    uint64_t number;
    return getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number ? number : 0;
}

/* On failure the journal works all the same, but positions of it cannot be remembered elsewhere. */
static uint64_t load_id(const struct journal *journal)
{
    struct buf blob;
    struct bytes content;
    uint64_t id = 0;
    enum err err = journal_blob_load(&blob, journal->directory, ID_FILE, &content);
    if (!err) {
        bool is_valid = journal_blob_take_u64(&content, &id) && id;
        buf_clear(&blob);
        if (is_valid)
            return id;
    } else if (err != ABSENT && err != CORRUPT) {
        return 0; /* it is there, and the next start may be able to read it */
    }
    id = random_number();
    journal_blob_start(&blob);
    journal_blob_u64(&blob, id);
    return journal_blob_save(&blob, journal->directory, ID_FILE) ? 0 : id;
}

const struct journal_opening *journal_opening(const struct journal *journal)
{
    return &journal->opening;
}

static enum err load(struct journal *journal)
{
    enum err err = journal_streams_load(&journal->streams, journal->directory);
    if (err == CORRUPT) {
        log_warn("the journal's list of streams is damaged; records that are sent again may be stored twice");
        err = OK;
    }
    if (!err)
        err = journal_segments_load(journal);
    if (!err)
        err = journal_segment_resume(journal);
    if (err)
        return err;
    journal->opening = (struct journal_opening){ load_id(journal), random_number(), journal_newest(journal) };
    err = journal_each_file(journal, load_cursor);
    if (!err)
        journal_retention_resume(journal);
    if (!err && journal->settings.after_sync)
        err = journal_sync(journal);
    if (!err && !journal->spare)
        journal->spare = malloc(sizeof *journal->spare);
    return err;
}

void journal_set_limits(struct journal *journal, uint64_t bytes, uint64_t age_ns)
{
    atomic_store(&journal->bytes_max, bytes ? bytes : JOURNAL_BYTES);
    atomic_store(&journal->age_max_ns, age_ns);
}

static struct journal *new_journal(const struct journal_settings *settings)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return NULL;
    journal->directory = journal->lock_fd = -1;
    if (settings)
        journal->settings = *settings;
    journal_set_limits(journal, journal->settings.bytes, journal->settings.age_ns);
    journal->now_ns = clock_realtime_ns();
    journal_streams_init(&journal->streams);
    pthread_mutex_init(&journal->lock, NULL);
    pthread_mutex_init(&journal->sync_lock, NULL);
    return journal;
}

enum err journal_open(struct journal **journal, const char *dir, const struct journal_settings *settings, struct buf *error)
{
    *journal = new_journal(settings);
    if (!*journal)
        return NOMEM;
    enum err err = open_directory(*journal, dir, error);
    if (!err) {
        err = load(*journal);
        if (err)
            buf_printf(error, "cannot read the journal %s: %s", dir, err_text(err));
    }
    if (err)
        journal_close(journal);
    return err;
}

static void free_all(struct journal *journal)
{
    for (struct journal_cursor *cursor = journal->cursors, *next; cursor; cursor = next) {
        next = cursor->next;
        journal_cursor_save(cursor, journal->directory);
        journal_cursor_free(&cursor);
    }
    for (struct journal_segment *segment = journal->oldest, *next; segment; segment = next) {
        next = segment->next;
        if (segment->fd >= 0)
            close(segment->fd);
        free(segment);
    }
    journal_streams_clear(&journal->streams);
    free(journal->spare);
}

void journal_close(struct journal **journal)
{
    if (!*journal)
        return;
    if ((*journal)->active)
        journal_sync(*journal);
    free_all(*journal);
    if ((*journal)->lock_fd >= 0)
        close((*journal)->lock_fd);
    if ((*journal)->directory >= 0)
        close((*journal)->directory);
    pthread_mutex_destroy(&(*journal)->lock);
    pthread_mutex_destroy(&(*journal)->sync_lock);
    free(*journal);
    *journal = NULL;
}

uint64_t journal_last_sequence(const struct journal *journal, const char *host, uint64_t stream)
{
    const struct journal_stream *found = journal_streams_find(&journal->streams, host, stream);
    return found ? found->last : 0;
}

static bool has_snapshot(const struct journal *journal, const struct journal_stream *stream)
{
    return stream && stream->next && stream->snapshot_segment == journal->active->base;
}

bool journal_needs_snapshot(const struct journal *journal, const char *host, uint64_t stream)
{
    return !has_snapshot(journal, journal_streams_find(&journal->streams, host, stream));
}

/* Writes an entry after the last one. A partial write is undone. */
static enum err write_entry(struct journal_segment *active, const struct journal_header *header,
                            const struct journal_entry *entry)
{
    struct iovec parts[] = {
        { (void *)header, sizeof *header },
        { (void *)entry->host, header->host_size },
        { (void *)entry->body.data, entry->body.size },
    };
    size_t size = sizeof *header + header->host_size + entry->body.size;
    off_t at = (off_t)(active->end - active->base);
    ssize_t put;
    do
        put = pwritev(active->fd, parts, sizeof parts / sizeof *parts, at);
    while (put < 0 && errno == EINTR);
    if (put == (ssize_t)size)
        return OK;
    enum err err = put < 0 ? err_from_errno(errno) : FULL;
    if (put > 0 && ftruncate(active->fd, at) != 0)
        err = IO; /* the next entry overwrites it, or the next start truncates it */
    return err;
}

void journal_wake(struct journal *journal)
{
    for (struct journal_cursor *cursor = journal->cursors; cursor; cursor = cursor->next)
        if (cursor->is_waiting) {
            cursor->is_waiting = false;
            eventfd_write(cursor->wake_fd, 1);
        }
}

/* Makes the entry visible to readers. */
static void publish(struct journal *journal, const struct journal_entry *entry, size_t size)
{
    struct journal_segment *active = journal->active;
    pthread_mutex_lock(&journal->lock);
    active->entries++;
    if (active->oldest_ns == 0)
        active->oldest_ns = entry->time_ns;
    active->newest_ns = journal->now_ns;
    if (entry->kind == JOURNAL_RECORD) {
        active->records++;
        active->last = active->end;
    } else {
        active->snapshot_bytes += entry->body.size;
    }
    active->end += size;
    journal->bytes += size;
    if (!journal->settings.after_sync)
        journal_wake(journal);
    pthread_mutex_unlock(&journal->lock);
}

/* A record must follow the record or snapshot before it; a snapshot must not be older than the newest record.
 * *is_there: a duplicate, nothing to do. */
static enum err check_order(const struct journal *journal, const struct journal_entry *entry,
                            const struct journal_stream *stream, bool *is_there)
{
    *is_there = entry->kind == JOURNAL_RECORD && entry->sequence <= stream->last;
    if (*is_there)
        return OK;
    if (entry->kind == JOURNAL_SNAPSHOT)
        return entry->sequence < stream->last ? USAGE : OK;
    return entry->kind == JOURNAL_RECORD && has_snapshot(journal, stream) && entry->sequence == stream->next ? OK : USAGE;
}

enum err journal_append(struct journal *journal, const struct journal_entry *entry)
{
    struct journal_header header;
    struct journal_stream *stream;
    bool is_there;
    enum err err = journal_header_write(&header, entry, journal->active->end);
    if (!err)
        err = journal_streams_get(&journal->streams, entry->host, entry->stream, &stream);
    if (!err)
        err = check_order(journal, entry, stream, &is_there);
    if (err || is_there)
        return err;
    size_t size = sizeof header + header.host_size + entry->body.size;
    uint64_t bytes_max = journal->bytes_max;
    if (journal->bytes + size > bytes_max)
        journal_shrink(journal, bytes_max > size ? bytes_max - size : 0);
    err = journal->active->lacks_header ? FULL : write_entry(journal->active, &header, entry);
    journal->is_full = err == FULL;
    if (err)
        return err;
    publish(journal, entry, size);
    stream->updated_ns = journal->now_ns;
    stream->next = entry->sequence + 1;
    if (entry->kind == JOURNAL_SNAPSHOT)
        stream->snapshot_segment = journal->active->base;
    else
        stream->last = entry->sequence;
    journal->newest_kind = entry->kind;
    if (entry->kind == JOURNAL_RECORD &&
        journal->active->end - journal->active->base >= journal_segment_limit(journal, journal->active))
        journal_segment_start(journal, journal->active->end); /* on failure the old segment continues */
    return OK;
}

/* The oldest segment that is not completely on disk, and its end. NULL: none. */
static struct journal_segment *next_unsynced(struct journal *journal, uint64_t *end)
{
    pthread_mutex_lock(&journal->lock);
    struct journal_segment *segment = journal->oldest;
    while (segment && segment->synced == segment->end)
        segment = segment->next;
    if (segment)
        *end = segment->end;
    pthread_mutex_unlock(&journal->lock);
    return segment;
}

static enum err sync_segment(struct journal *journal, struct journal_segment *segment, uint64_t end)
{
    char name[JOURNAL_FILE_NAME_MAX];
    journal_segment_name(name, segment->base);
    int fd = segment->fd >= 0 ? segment->fd : openat(journal->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    enum err err = fd >= 0 && fdatasync(fd) == 0 ? OK : err_from_errno(errno);
    pthread_mutex_lock(&journal->lock);
    if (!err)
        segment->synced = end;
    bool is_over = fd >= 0 && (segment->fd < 0 || (segment != journal->active && segment->synced == segment->end));
    if (is_over) {
        close(fd);
        segment->fd = -1;
    }
    if (!err && journal->settings.after_sync)
        journal_wake(journal);
    pthread_mutex_unlock(&journal->lock);
    return err;
}

/* Segments are freed only with sync_lock held, so those in the list stay valid. */
enum err journal_sync_locked(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    bool is_directory_dirty = journal->is_directory_dirty;
    uint64_t until = journal->active->base;
    journal->is_directory_dirty = false;
    pthread_mutex_unlock(&journal->lock);
    if (is_directory_dirty && !journal->sync_err && fsync(journal->directory) != 0)
        journal->sync_err = err_from_errno(errno);
    struct journal_segment *segment;
    uint64_t end;
    bool is_last = false;
    while (!journal->sync_err && !is_last && (segment = next_unsynced(journal, &end))) {
        is_last = segment->base >= until;
        journal->sync_err = sync_segment(journal, segment, end);
    }
    return journal->sync_err;
}

enum err journal_sync(struct journal *journal)
{
    pthread_mutex_lock(&journal->sync_lock);
    enum err err = journal_sync_locked(journal);
    pthread_mutex_unlock(&journal->sync_lock);
    return err;
}

void journal_figures(const struct journal *journal, struct journal_figures *figures)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&journal->lock;
    pthread_mutex_lock(lock);
    *figures = (struct journal_figures){ .bytes = journal->bytes, .bytes_max = journal->bytes_max,
                                         .position = journal->active->end,
                                         .lost_records = journal->lost_records,
                                         .damaged_bytes = journal->damaged_bytes };
    for (const struct journal_segment *segment = journal->oldest; segment; segment = segment->next) {
        figures->segments++;
        figures->entries += segment->entries;
        if (figures->oldest_ns == 0)
            figures->oldest_ns = segment->oldest_ns;
    }
    pthread_mutex_unlock(lock);
}
