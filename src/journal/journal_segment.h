/* Internals of a journal: its segments, in order, and the cursors of its readers. One mutex protects what several
 * threads use; it is never held while entries are read from or written to a file. */
#ifndef SONDE_JOURNAL_JOURNAL_SEGMENT_H
#define SONDE_JOURNAL_JOURNAL_SEGMENT_H

#include "journal/journal_cursor.h"
#include "journal/journal_scan.h"
#include "journal/journal_streams.h"

#include <pthread.h>

#define JOURNAL_FILE_NAME_MAX 32

struct journal_segment {
    struct journal_segment *next; /* the next newer one */
    uint64_t base, end;           /* positions of its first byte and after its last */
    uint64_t last;                /* position of its last record; 0: it has none */
    uint64_t entries, records;
    uint64_t snapshot_bytes;
    uint64_t oldest_ns;             /* time of its first entry that has one; 0: none */
    uint64_t started_ns, newest_ns; /* by our clock: when it was started and when it was last appended to */
    uint64_t synced;                /* on disk up to this position */
    bool has_damage;                /* damage was found between its entries */
    bool lacks_header;              /* the disk was too full to write it */
    bool is_deleting;               /* it is being deleted: readers must not continue in it */
    enum journal_reason reason;     /* for deleting it, if a reader loses entries */
    int fd;                         /* for writing; -1: closed */
};

struct journal {
    int directory, lock_fd;
    struct journal_settings settings; /* except the limits, which are below */
    struct journal_opening opening;
    _Atomic uint64_t bytes_max, age_max_ns;

    /* used only by the writer's thread */
    struct journal_streams streams;
    enum journal_kind newest_kind; /* a record must be in the same segment as the snapshot before it */
    struct journal_segment *spare; /* so that starting a segment does not allocate */
    bool is_unsaved;               /* the disk was too full for the list of streams or for gaps */
    bool has_warned;               /* about that, or about a failed deletion */
    bool is_full;                  /* the disk was too full for the newest entry */

    pthread_mutex_t sync_lock;  /* for syncing and for freeing segments; taken before lock */
    enum err sync_err;          /* permanent: what a failed sync lost cannot be synced again */
    bool is_directory_dirty;

    pthread_mutex_t lock; /* protects everything below */
    struct journal_segment *oldest, *active;
    struct journal_cursor *cursors;
    uint64_t removals; /* counts deletions, so that a reader can notice that its segment may be gone */
    uint64_t bytes, now_ns, lost_records, damaged_bytes;
};

/* DIR/<base>.journal */
/* Calls each with the names in the journal's directory. An error of each ends it. */
enum err journal_each_file(struct journal *journal, enum err (*each)(struct journal *journal, const char *file));

void journal_segment_name(char name[JOURNAL_FILE_NAME_MAX], uint64_t base);

/* Finds the segment files, oldest first, and scans them for streams, counts and damage. */
enum err journal_segments_load(struct journal *journal);

/* Reopens the last segment for appending, or starts a new one if that is impossible. */
enum err journal_segment_resume(struct journal *journal);

/* Ends the active segment and starts the next. On an error nothing changes. If the disk is full and the active segment
 * is acknowledged, the next one is started without a header; journal_segment_write_header writes it once there is
 * space. */
enum err journal_segment_start(struct journal *journal, uint64_t base);
void journal_segment_write_header(struct journal *journal);

/* The size at which a segment is ended. */
uint64_t journal_segment_limit(const struct journal *journal, const struct journal_segment *segment);

/* The segment that contains the position, or the first one after it. NULL: all are before it. */
struct journal_segment *journal_segment_at(const struct journal *journal, uint64_t position);

/* Position of the newest record; if there is none, the position before the first entry. */
uint64_t journal_newest(const struct journal *journal);

/* Up to where readers may read it. */
uint64_t journal_segment_visible(const struct journal *journal, const struct journal_segment *segment);

/* Has the cursor's reader acknowledged all records of a segment? */
bool journal_segment_is_acked(const struct journal_segment *segment, const struct journal_cursor *cursor);

/* Wakes readers that wait for new entries. lock is held. */
void journal_wake(struct journal *journal);

/* journal_sync for callers that hold sync_lock. */
enum err journal_sync_locked(struct journal *journal);

/* Deletes segments until at most bytes are left, not counting the active one. Called by the writer's thread. */
void journal_shrink(struct journal *journal, uint64_t bytes);

/* Completes deletions that a crash interrupted; part of opening. */
void journal_retention_resume(struct journal *journal);

#endif
