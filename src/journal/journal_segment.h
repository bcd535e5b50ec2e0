/* What is inside a journal, for its own files: the segments, in order, and who reads them. One mutex keeps what several
 * threads look at; it is never held while something is written to or read from a file of entries. */
#ifndef SONDE_JOURNAL_JOURNAL_SEGMENT_H
#define SONDE_JOURNAL_JOURNAL_SEGMENT_H

#include "journal/journal_cursor.h"
#include "journal/journal_scan.h"
#include "journal/journal_streams.h"

#include <pthread.h>

#define JOURNAL_FILE_ROOM 32

struct journal_segment {
    struct journal_segment *next; /* the newer one */
    uint64_t base, end;           /* positions of its first byte, and behind its last */
    uint64_t last;                /* position of its last record; 0: it has none */
    uint64_t entries, records;
    uint64_t state_bytes;
    uint64_t oldest_ns;           /* time of its first entry that has one; 0: none */
    uint64_t began_ns, newest_ns; /* by our clock: when it was begun, when something was appended last */
    uint64_t synced;              /* up to here it is on the disk */
    bool has_hole;                /* damage was found between its entries */
    bool lacks_head;              /* the disk was too full for it */
    bool is_doomed;               /* it is being removed: nobody reads on in it */
    enum journal_reason reason;   /* … why, where that costs somebody something */
    int fd;                       /* for writing; -1: it was closed */
};

struct journal {
    int folder, lock_fd;
    struct journal_settings settings; /* but for the bounds: */
    struct journal_opening opening;
    _Atomic uint64_t bytes_max, age_max_ns;

    /* only by the thread that writes */
    struct journal_streams streams;
    enum journal_kind newest_kind; /* a record must stand in the same segment as the state before it */
    struct journal_segment *spare; /* so that a new segment allocates nothing */
    bool is_unsaved;               /* the disk was too full for the list of streams or for gaps */
    bool has_complained;           /* … or something could not be removed, which was said */
    bool is_full;                  /* the disk could not take the newest entry */

    pthread_mutex_t sync_lock;  /* one thread syncs; taken before lock, and by whoever frees a segment */
    enum err sync_err;          /* what was lost by a failed sync does not come back: it stays */
    bool is_folder_dirty;

    pthread_mutex_t lock; /* for all below */
    struct journal_segment *oldest, *active;
    struct journal_cursor *cursors;
    uint64_t removals; /* counts, so that a reader knows that its segment may be gone */
    uint64_t bytes, now_ns, lost_records, damaged_bytes;
};

/* DIR/<base>.journal */
void journal_segment_name(char name[JOURNAL_FILE_ROOM], uint64_t base);

/* Finds the segment files, oldest first, and learns what is in them: streams, counts, damage. */
enum err journal_segments_learn(struct journal *journal);

/* Opens the last segment to go on with it, or begins one where that cannot be. */
enum err journal_segment_resume(struct journal *journal);

/* Ends the active segment and begins the next. On an error it stays as it was. Where the disk is full and all have read the
 * active one, the next is begun without a head: that is written by journal_segment_mend when there is room. */
enum err journal_segment_begin(struct journal *journal, uint64_t base);
void journal_segment_mend(struct journal *journal);

/* The size at which a segment is ended. */
uint64_t journal_segment_limit(const struct journal *journal, const struct journal_segment *segment);

/* The segment with the position in it, or the first one behind it. NULL: all are before it. */
struct journal_segment *journal_segment_at(const struct journal *journal, uint64_t position);

/* Position of the newest record; that before the first entry when there is none. */
uint64_t journal_newest(const struct journal *journal);

/* How much of it readers may see. */
uint64_t journal_segment_visible(const struct journal *journal, const struct journal_segment *segment);

/* What the reader of this cursor still has to read of a segment: nothing, when this is true. */
bool journal_segment_is_done(const struct journal_segment *segment, const struct journal_cursor *cursor);

/* Wakes those who wait for something new. With lock held. */
void journal_wake(struct journal *journal);

/* journal_sync for who has sync_lock. */
enum err journal_sync_held(struct journal *journal);

/* Removes until no more than bytes are left (but for what is being written). By the thread that writes. */
void journal_shrink(struct journal *journal, uint64_t bytes);

/* Ends removals that a crash interrupted. Part of opening. */
void journal_tend_resume(struct journal *journal);

#endif
