/* The position of one reader of a journal, and what it has missed.
 *
 * Three positions: acked (everything up to it is stored safely by the reader) <= delivered (returned by
 * journal_reader_next but not acknowledged yet: in flight) <= the end of the journal. Only acked is saved. After a
 * restart the entries in flight are delivered again: at least once, never lost.
 *
 * DIR/<name>.cursor holds two copies of acked in separate disk sectors, each with a checksum and a save counter. Saves
 * alternate between them and the valid copy with the higher counter wins, so a torn write costs at most one save. The
 * file is written in place: a full disk cannot prevent it. It is not synced, because losing a save only means
 * delivering some entries again.
 *
 * DIR/<name>.gaps lists what was deleted from the journal before this reader acknowledged it, one gap per stream. It is
 * durable before the segment is unlinked; if the process dies in between, journal_retention_resume deletes the segment
 * at the next start. A gap has a position inside the deleted range, so that it is delivered in order and acknowledged
 * like an entry, and is removed from the list then. The position is synced together with the gaps, because they belong
 * to it. */
#ifndef SONDE_JOURNAL_JOURNAL_CURSOR_H
#define SONDE_JOURNAL_JOURNAL_CURSOR_H

#include "journal/journal.h"

#define JOURNAL_CURSOR_SUFFIX ".cursor"
#define JOURNAL_DELIVERIES_MAX 256

enum journal_reason { JOURNAL_TOO_MUCH, JOURNAL_TOO_OLD, JOURNAL_DAMAGED };

/* Records of one stream that were deleted before this reader got them. */
struct journal_gap {
    char *host;
    uint64_t stream;
    uint64_t from_ns, to_ns, records; /* times of the first and the last record; number of records */
    uint64_t sequence;                /* of the last one */
    enum journal_reason reason;
    uint64_t after, up_to;            /* the range of positions that they occupied */
    uint64_t position;                /* at which it is delivered; unique within the cursor */
    bool is_final;                    /* it was delivered, or may have been: later losses become another gap */
    bool is_reported;
};

struct journal_delivery {
    uint64_t position, time_ns;
};

struct journal_cursor {
    struct journal_cursor *next;
    char name[JOURNAL_NAME_MAX];
    int fd;                   /* of the cursor file */
    uint64_t saves;           /* counter: tells which copy in the file is newer */
    uint64_t acked;           /* position of the last entry that is stored safely elsewhere */
    uint64_t saved;           /* acked, as in the file */
    uint64_t delivered;       /* position of the last new entry that was delivered */
    bool is_open;             /* a reader uses it */
    bool is_waiting;          /* and wants to be woken */
    int wake_fd;              /* the reader's eventfd */
    struct journal_gap *gaps; /* sorted by position */
    size_t gap_count, gap_capacity;
    bool gaps_in_file;
    /* Times of entries in flight; thinned out when there are many. */
    struct journal_delivery deliveries[JOURNAL_DELIVERIES_MAX];
    size_t delivery_count;
    uint64_t delivery_every, delivery_skipped;
    uint64_t acked_ns; /* time of the newest acknowledged entry; 0: unknown */
};

/* Reads the files of a cursor. ABSENT: there are none. CORRUPT: damaged. *cursor is set only on OK. */
enum err journal_cursor_load(struct journal_cursor **cursor, int directory, const char *name);

/* Creates its file with this acked position. USAGE: the name is empty or too long. */
enum err journal_cursor_create(struct journal_cursor **cursor, int directory, const char *name, uint64_t acked);
void journal_cursor_free(struct journal_cursor **cursor); /* the files stay */
void journal_cursor_remove(int directory, const char *name); /* deletes the files */

/* Writes acked if it has changed. Not synced: at worst some entries are delivered again. */
enum err journal_cursor_save(struct journal_cursor *cursor, int directory);

/* Saves acked and packs the gaps that belong to it; false: there are none. save_gaps then writes them durably and frees
 * the buffer. */
bool journal_cursor_pack_gaps(struct journal_cursor *cursor, struct buf *gaps);
enum err journal_cursor_save_gaps(const struct journal_cursor *cursor, int directory, struct buf *gaps);

/* Adds lost records: to an existing gap of the same stream and reason that was not delivered yet, unless that one ends
 * before kept (entries that still exist lie in between) or comes after this one. */
enum err journal_cursor_add_gap(struct journal_cursor *cursor, const struct journal_gap *gap, uint64_t kept);

/* Is the segment that ends at this position already part of a gap? */
bool journal_cursor_has_gap(const struct journal_cursor *cursor, uint64_t end);

/* After adding gaps that end at up_to: gives each undelivered one a unique position below it. */
void journal_cursor_place_gaps(struct journal_cursor *cursor, uint64_t up_to);

/* The first that was not delivered. NULL: none. */
struct journal_gap *journal_cursor_next_unreported_gap(struct journal_cursor *cursor);

/* An entry was delivered; everything up to position was acknowledged. */
void journal_cursor_deliver(struct journal_cursor *cursor, uint64_t position, uint64_t time_ns);
void journal_cursor_ack(struct journal_cursor *cursor, uint64_t position);

/* The cursor's name from its file name. false: not a cursor file. */
bool journal_cursor_name(const char *file, char name[JOURNAL_NAME_MAX]);

const char *journal_reason_string(enum journal_reason reason);

#endif
