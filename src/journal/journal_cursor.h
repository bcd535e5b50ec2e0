/* How far one reader of a journal is: what it said it is done with, what it holds in its hands, what it has missed. In the
 * files DIR/<name>.cursor, which is written in place so that a full disk does not hinder it, and DIR/<name>.gaps. */
#ifndef SONDE_JOURNAL_JOURNAL_CURSOR_H
#define SONDE_JOURNAL_JOURNAL_CURSOR_H

#include "journal/journal.h"

#define JOURNAL_CURSOR_SUFFIX ".cursor"
#define JOURNAL_RECENT_MAX 256

enum journal_reason { JOURNAL_TOO_MUCH, JOURNAL_TOO_OLD, JOURNAL_DAMAGED };

/* Records of one stream that were removed before this reader had them. */
struct journal_gap {
    char *host;
    uint64_t stream;
    uint64_t from_ns, to_ns, records; /* times of the first and the last; how many */
    uint64_t sequence;                /* of the last */
    enum journal_reason reason;
    uint64_t after, upto; /* positions between which they were */
    uint64_t position;    /* under which it is told; no other gap of the reader has the same */
    bool is_final;        /* it was told, or may have been: what is lost later is another gap */
    bool is_told;
};

struct journal_recent {
    uint64_t position, time_ns;
};

struct journal_cursor {
    struct journal_cursor *next;
    char name[JOURNAL_NAME_MAX];
    int fd;          /* of the file */
    uint64_t saves;  /* counts, so that the newer of the two copies in the file is known */
    uint64_t done;   /* position of the last entry that is safe elsewhere */
    uint64_t saved;  /* … as in the file */
    uint64_t handed; /* position of the last new entry that was given out */
    bool is_open;    /* a reader has it */
    bool is_waiting; /* … and wants to be woken */
    int wake_fd;     /* the reader's eventfd */
    struct journal_gap *gaps; /* by position */
    size_t gap_count, gap_room;
    bool gaps_in_file;
    /* Times of what was given out and is not done, thinned out when it is much. */
    struct journal_recent recent[JOURNAL_RECENT_MAX];
    size_t recent_count;
    uint64_t recent_every, recent_skipped;
    uint64_t done_ns; /* time of the newest entry that is done; 0: not known */
};

/* Reads the files of a name. ABSENT: it has none. CORRUPT: damaged. *cursor is made only on OK. */
enum err journal_cursor_load(struct journal_cursor **cursor, int folder, const char *name);

/* Makes its file, with done as it is told. USAGE: no name for a file. */
enum err journal_cursor_make(struct journal_cursor **cursor, int folder, const char *name, uint64_t done);
void journal_cursor_free(struct journal_cursor **cursor); /* the files stay */
void journal_cursor_remove(int folder, const char *name); /* the files go, but for its note */

/* DIR/<name>.note, which is the reader's own matter: as journal/journal.h says. */
enum err journal_cursor_save_note(int folder, const char *name, struct buf *note);
enum err journal_cursor_load_note(int folder, const char *name, struct buf *note, struct bytes *content);
void journal_cursor_remove_note(int folder, const char *name);

/* Writes done when it has moved. Not synced: at worst something is delivered again. */
enum err journal_cursor_save(struct journal_cursor *cursor, int folder);

/* Saves done, and makes the content of the file of gaps that belongs to it; false: there are none. Then writes that, durable;
 * frees it. */
bool journal_cursor_pack_gaps(struct journal_cursor *cursor, struct buf *gaps);
enum err journal_cursor_save_gaps(const struct journal_cursor *cursor, int folder, struct buf *gaps);

/* Something more is missing: it is added to a gap of the same stream and reason that was not told yet, unless that one ends
 * before kept, where something is between them that is not missing, or is behind this one. */
enum err journal_cursor_add_gap(struct journal_cursor *cursor, const struct journal_gap *gap, uint64_t kept);

/* Is what ends at this position among its gaps already? */
bool journal_cursor_has_gap(const struct journal_cursor *cursor, uint64_t end);

/* After additions that end at upto: gives each gap that was not told a position of its own below it. */
void journal_cursor_place_gaps(struct journal_cursor *cursor, uint64_t upto);

/* The first that was not told. NULL: none. */
struct journal_gap *journal_cursor_untold(struct journal_cursor *cursor);

/* Entries were given out; all up to position are done. */
void journal_cursor_hand(struct journal_cursor *cursor, uint64_t position, uint64_t time_ns);
void journal_cursor_done(struct journal_cursor *cursor, uint64_t position);

/* The name of a cursor from that of its file. false: it is not one. */
bool journal_cursor_name(const char *file, char name[JOURNAL_NAME_MAX]);

const char *journal_reason_text(enum journal_reason reason);

#endif
