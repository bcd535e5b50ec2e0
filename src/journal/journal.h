/* The journal: a durable queue on disk for records that are not delivered everywhere yet. An agent has one for its own
 * stream, a collector one for the streams of all its hosts. One thread appends; each consumer (the uplink, a sink)
 * reads with a cursor of its own, at its own speed, and acknowledges what it has stored safely. Segments that all
 * cursors have passed are deleted. Beyond its size or age limit the journal deletes the oldest segments, and each
 * reader that had not read them gets a JOURNAL_GAP entry that says exactly what it missed.
 *
 * Files: DIR/<position of the first byte, 16 hex digits>.journal is one segment, a sequence of entries with size and
 * checksum. The first entry of a stream in a segment is a snapshot, so a segment can be read without those before it.
 * DIR/<name>.cursor and .gaps: how far a reader is and what it missed (journal_cursor.h). DIR/streams: the last
 * sequence of each stream that is no longer in a segment. DIR/id: a random number that identifies the journal. DIR/lock
 * keeps other processes out.
 *
 * A position is an offset into the concatenation of all segments ever written: it only grows. */
#ifndef SONDE_JOURNAL_JOURNAL_H
#define SONDE_JOURNAL_JOURNAL_H

#include "base/buf.h"

#define JOURNAL_BYTES (1ull << 30)
#define JOURNAL_HOST_MAX 256
#define JOURNAL_NAME_MAX 64

struct journal_settings {
    uint64_t bytes;         /* of all segments; 0: JOURNAL_BYTES */
    uint64_t age_ns;        /* of the oldest entry; 0: unlimited */
    uint64_t segment_bytes; /* 0: chosen automatically */
    bool after_sync;        /* readers see only synced entries, so that they never have something that a crash loses here */
};

enum journal_kind { JOURNAL_SNAPSHOT = 1, JOURNAL_RECORD = 2, JOURNAL_GAP = 3 };

struct journal_entry {
    enum journal_kind kind;
    const char *host;       /* of the stream */
    uint64_t stream;        /* its id: random, chosen when the stream started */
    uint64_t sequence;      /* record: from 1; snapshot: the record that it follows; gap: the last missing one */
    uint64_t time_ns;       /* CLOCK_REALTIME of the batch, for age and gaps; 0: unknown */
    struct bytes body;      /* record or snapshot; borrowed until the next call */
    /* set when reading: */
    uint64_t position;      /* of the entry, for journal_reader_ack */
    bool is_new;            /* false: acknowledged earlier, repeated only to rebuild the stream's state */
    /* only JOURNAL_GAP, which is never in a file: what this reader missed of the stream */
    uint64_t gap_from_ns, gap_to_ns, gap_records;
    const char *gap_reason;
};

struct journal;

/* Opens the directory, creating it if necessary, and truncates what a crash left half written. AGAIN: in use by another
 * process. DENIED, FULL, IO. error gets the message. */
enum err journal_open(struct journal **journal, const char *dir, const struct journal_settings *settings, struct buf *error);
void journal_close(struct journal **journal); /* syncs first; all readers must be closed */

/* For a reader that stores its position elsewhere, together with what it delivers. */
struct journal_opening {
    uint64_t id;     /* identifies the journal for ever, as long as its directory exists; 0: could not be saved (disk full) */
    uint64_t number; /* random, of this opening */
    uint64_t newest; /* newest position at opening; higher ones are new, even if other entries had them before a crash */
};
const struct journal_opening *journal_opening(const struct journal *journal);

/* The highest sequence of a stream that was ever appended; 0: none. Records up to it are duplicates. */
uint64_t journal_last_sequence(const struct journal *journal, const char *host, uint64_t stream);

/* Must a snapshot be appended before the next record of the stream, because a new segment has started? */
bool journal_needs_snapshot(const struct journal *journal, const char *host, uint64_t stream);

/* Appends an entry with one write; readers see it at once. FULL: the disk is full; it can be retried. After FULL and IO
 * the file is unchanged. A duplicate record (see journal_last_sequence) is OK and not written. USAGE: a record must
 * follow the previous record or snapshot of its stream by one and in the same segment; a snapshot must not be older
 * than the newest record. This guarantees that a reader can decode each record with what it got before. */
enum err journal_append(struct journal *journal, const struct journal_entry *entry);

/* When it returns OK, everything appended before is on disk. May be called from another thread than the writer. After a
 * failure it fails for ever, because the kernel drops the pages it could not write: close and reopen the journal. */
enum err journal_sync(struct journal *journal);

/* Changes the limits of journal_settings, from the next journal_maintain on. */
void journal_set_limits(struct journal *journal, uint64_t bytes, uint64_t age_ns);

/* Call about once a second: saves cursors, ends segments, deletes what all have acknowledged or what exceeds the
 * limits. */
void journal_maintain(struct journal *journal, uint64_t now_ns);

struct journal_figures {
    uint64_t bytes, segments, entries;   /* on disk now */
    uint64_t bytes_max;                  /* limit of bytes */
    uint64_t position;                   /* after the newest entry */
    uint64_t oldest_ns;                  /* time of the oldest entry; 0: none */
    uint64_t lost_records;               /* deleted before every reader had read them, since the start */
    uint64_t damaged_bytes;              /* found at the start */
};
void journal_figures(const struct journal *journal, struct journal_figures *figures);

struct journal_reader; /* for one thread at a time */

/* Opens the reader of this name at the last acknowledged entry; a new one starts at the oldest entry (from_start) or
 * after the newest. from: start after this position instead, for a reader that stores it elsewhere; 0: use the cursor. */
enum err journal_reader_open(struct journal *journal, struct journal_reader **reader, const char *name, bool from_start,
                             uint64_t from);
void journal_reader_close(struct journal_reader **reader); /* the cursor stays */
void journal_remove_cursor(struct journal *journal, const char *name); /* it no longer keeps entries from being deleted */

/* Removes all cursors that are not open and not wanted according to is_wanted; logs each. */
void journal_remove_unwanted_cursors(struct journal *journal, bool (*is_wanted)(const void *context, const char *name),
                                     const void *context);

/* The next entry. AGAIN: none at the moment. CORRUPT: a damaged range was skipped; what it costs follows as
 * JOURNAL_GAP. */
enum err journal_reader_next(struct journal_reader *reader, struct journal_entry *entry);

/* The segment of the last entry. Each segment starts every stream with a snapshot, so a reader may forget a stream that
 * does not occur in a whole segment. */
uint64_t journal_reader_segment(const struct journal_reader *reader);
int journal_reader_fd(const struct journal_reader *reader); /* an eventfd, readable when there is something new */

/* Everything up to and including the entry at position is stored safely elsewhere; capped at what was delivered.
 * Written to the cursor's file within a second, and when the reader is closed. */
enum err journal_reader_ack(struct journal_reader *reader, uint64_t position);
uint64_t journal_reader_lag_bytes(const struct journal_reader *reader); /* from the last acknowledged entry to the newest */
/* Age of the oldest unacknowledged entry; 0: none. */
uint64_t journal_reader_lag_ns(const struct journal_reader *reader, uint64_t now_ns);

#endif
