/* The journal: what was taken and is not yet delivered everywhere, in files. An agent has one, for its own stream; a
 * collector has one, for the streams of all its hosts. One thread writes; each outlet (an uplink, a sink) reads with a cursor
 * of its own, at its own speed. What all of them have passed is removed. Beyond its bounds the oldest goes, and whoever had
 * not read it is told exactly what is missing.
 *
 * Files: DIR/<position of the first byte, 16 hex digits>.journal, each one segment: entries, one after another, each with its
 * size and check. The first entry of a stream in a segment is its state, so that a segment can be read without those before
 * it. DIR/<name>.cursor: where a reader is; DIR/<name>.note: what else it wants to remember. DIR/streams: the last sequence of
 * each stream that has left the segments. DIR/id: a random number that names the journal.
 * DIR/lock keeps a second process out. */
#ifndef SONDE_JOURNAL_JOURNAL_H
#define SONDE_JOURNAL_JOURNAL_H

#include "base/buf.h"

#define JOURNAL_BYTES (1ull << 30)
#define JOURNAL_HOST_MAX 256
#define JOURNAL_NAME_MAX 64

struct journal_settings {
    uint64_t bytes;         /* of all segments; 0: JOURNAL_BYTES */
    uint64_t age_ns;        /* of the oldest entry; 0: any */
    uint64_t segment_bytes; /* 0: chosen by what is written */
    bool after_sync;        /* readers see only what was synced: for whom what a reader has must never be lost here */
};

enum journal_kind { JOURNAL_STATE = 1, JOURNAL_RECORD = 2, JOURNAL_GAP = 3 };

struct journal_entry {
    enum journal_kind kind;
    const char *host;       /* of the stream */
    uint64_t stream;        /* its id: random, made when the stream began */
    uint64_t sequence;      /* of the record, from 1; of a state: the record that it comes behind; of a gap: the last missing */
    uint64_t time_ns;       /* CLOCK_REALTIME of the batch, for age and gaps; 0: not known */
    struct bytes body;      /* record or snapshot; borrowed until the next call */
    /* when read: */
    uint64_t position;      /* of the entry; what journal_done is told */
    bool is_new;            /* false: the reader was behind it already; it is shown again only to make the state */
    /* of a JOURNAL_GAP, which is never in a file: what this reader has missed of the stream */
    uint64_t gap_from_ns, gap_to_ns, gap_records;
    const char *gap_reason;
};

struct journal;

/* Opens, or makes, the folder; cuts off what a crash left half written. AGAIN: another process has it. DENIED, FULL, IO. why
 * gets a sentence. */
enum err journal_open(struct journal **journal, const char *dir, const struct journal_settings *settings, struct buf *why);
void journal_close(struct journal **journal); /* syncs first; all readers must be closed */

/* For whoever remembers elsewhere what he has of it. */
struct journal_opening {
    uint64_t id;     /* names the journal: made with the folder, and never another; 0: it has none, since the disk is full */
    uint64_t number; /* random, of this time that it was opened */
    uint64_t newest; /* position of the newest entry that was there then. One of a higher position is new, though before the
                      * machine went down another one may have stood there. */
};
const struct journal_opening *journal_opening(const struct journal *journal);

/* The last sequence of a stream that was appended, ever; 0: none. What is not beyond it is there already. */
uint64_t journal_last(const struct journal *journal, const char *host, uint64_t stream);

/* Does a record of the stream need its state before it, because a segment has begun? */
bool journal_wants_state(const struct journal *journal, const char *host, uint64_t stream);

/* Appends, with one write; readers see it at once. FULL: the disk is full, nothing was written, and it may be tried again.
 * After FULL and IO the file is as before. A record that is not beyond journal_last is there already: OK, and nothing is
 * written. USAGE: a record must follow the record or the state before it by one, in its segment; a state must not be older
 * than the newest record. So whoever reads can decode each record with what he was given before. */
enum err journal_append(struct journal *journal, const struct journal_entry *entry);

/* Everything appended before is on the disk when it returns OK. May be called by another thread than the writer. After a
 * failure it fails for ever: what the kernel could not write it has forgotten. Open the journal anew. */
enum err journal_sync(struct journal *journal);

/* Other bounds than it was opened with, 0 as there: from the next journal_tend on. */
void journal_bound(struct journal *journal, uint64_t bytes, uint64_t age_ns);

/* Once a second or so: ends segments, removes what all have read or what is too old or too much. */
void journal_tend(struct journal *journal, uint64_t now_ns);

struct journal_figures {
    uint64_t bytes, segments, entries;   /* in the files now */
    uint64_t position;                   /* behind the newest entry */
    uint64_t oldest_ns;                  /* time of the oldest entry; 0: none */
    uint64_t lost_records;               /* removed before somebody had read them, since the start */
    uint64_t damaged_bytes;              /* found at the start */
};
void journal_figures(const struct journal *journal, struct journal_figures *figures);

struct journal_reader; /* for one thread at a time */

/* A reader of this name, where it was when it was last done; a new one begins at the oldest entry (from_start) or behind the
 * newest. from: where else to begin, for whoever remembers it himself; 0: as the cursor says. */
enum err journal_read(struct journal *journal, struct journal_reader **reader, const char *name, bool from_start,
                      uint64_t from);
void journal_read_close(struct journal_reader **reader); /* its cursor stays */
void journal_forget(struct journal *journal, const char *name); /* its cursor holds nothing up any longer */

/* The same of all that are not open and of which is_wanted says no; each is told in the log. */
void journal_forget_unwanted(struct journal *journal, bool (*is_wanted)(const void *context, const char *name),
                             const void *context);

/* What a reader of this name keeps beside its cursor, in DIR/<name>.note: its own matter, whole and durable when it returns OK,
 * gone with the cursor. Made with journal_blob_begin and the like (journal/journal_blob.h); freed here. */
enum err journal_note_save(const struct journal *journal, const char *name, struct buf *note);

/* ABSENT: there is none; CORRUPT: damaged. On OK the caller frees note; content is in it. */
enum err journal_note_load(const struct journal *journal, const char *name, struct buf *note, struct bytes *content);

/* The next entry. AGAIN: there is none now. CORRUPT: what follows is damaged; it is skipped, counted and told as a gap. */
enum err journal_next(struct journal_reader *reader, struct journal_entry *entry);

/* The segment that the last entry was in. In another one each stream begins with its state: who met nothing of a stream in a
 * whole segment may forget it. */
uint64_t journal_segment(const struct journal_reader *reader);
int journal_fd(const struct journal_reader *reader); /* an eventfd: readable when something was appended; clears in next */

/* Everything up to and with the entry at position is safe elsewhere; a position beyond what was given out means all of that.
 * Saved lazily: at the latest a second later, and at the end. */
enum err journal_done(struct journal_reader *reader, uint64_t position);
uint64_t journal_lag_bytes(const struct journal_reader *reader); /* between what is done and the newest */
uint64_t journal_lag_ns(const struct journal_reader *reader, uint64_t now_ns); /* age of the oldest that is not done; 0: none */

#endif
