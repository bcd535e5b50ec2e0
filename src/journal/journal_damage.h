/* What damage in a segment costs: which streams lost records, how many, and from where on they can be read again. A
 * record builds on the one before it, so the records after a lost one are unusable until the next snapshot. */
#ifndef SONDE_JOURNAL_JOURNAL_DAMAGE_H
#define SONDE_JOURNAL_JOURNAL_DAMAGE_H

#include "journal/journal_cursor.h"
#include "journal/journal_scan.h"

/* A segment as it was when the damage was found; end 0: there is none. */
struct journal_span {
    uint64_t base, end;
};

struct journal_damaged_stream {
    struct journal_gap gap; /* its position: at which it is delivered */
    uint64_t until;         /* entries of the stream before this position are skipped */
    bool is_reported;
};

struct journal_damage {
    struct journal_damaged_stream *streams;
    size_t count, capacity;
};

void journal_damage_init(struct journal_damage *damage);
void journal_damage_clear(struct journal_damage *damage);

/* Scans the segment with the damage between from and to, the one before and the one after it, and adds an element for
 * each stream that lost records. The reader had everything up to delivered: only what comes after it is counted. */
enum err journal_damage_assess(struct journal_damage *damage, int directory, const struct journal_span spans[3],
                               uint64_t from, uint64_t to, uint64_t delivered);

/* Is this entry unusable because of the damage? */
bool journal_damage_affects(const struct journal_damage *damage, const struct journal_entry *entry);

/* The next loss to deliver; NULL: none. Then also removes those that were delivered and lie before position. */
struct journal_damaged_stream *journal_damage_next_unreported(struct journal_damage *damage, uint64_t position);

#endif
