/* What damage in a segment costs: which streams lost records in it, how many, and from where on they can be read again. A
 * record builds on the one before it: those behind a lost one are of no use until the next state. */
#ifndef SONDE_JOURNAL_JOURNAL_DAMAGE_H
#define SONDE_JOURNAL_JOURNAL_DAMAGE_H

#include "journal/journal_cursor.h"
#include "journal/journal_scan.h"

/* A segment as it was when the damage was met; end 0: there is none. */
struct journal_span {
    uint64_t base, end;
};

struct journal_wound {
    struct journal_gap gap; /* position: under which it is told */
    uint64_t until;         /* what stands before this position of the stream is skipped */
    bool is_told;
};

struct journal_damage {
    struct journal_wound *wounds;
    size_t count, room;
};

void journal_damage_init(struct journal_damage *damage);
void journal_damage_clear(struct journal_damage *damage);

/* Looks at the segment with the damage between from and to, the one before and the one behind it, and adds a wound for each
 * stream that was hit. handed: up to there the reader had everything; it misses only what is behind it. */
enum err journal_damage_assess(struct journal_damage *damage, int folder, const struct journal_span spans[3],
                               uint64_t from, uint64_t to, uint64_t handed);

/* Is an entry one of those that are of no use? */
bool journal_damage_hits(const struct journal_damage *damage, const struct journal_entry *entry);

/* The next one to tell; NULL: none. Wounds that were told and are passed at position are forgotten. */
struct journal_wound *journal_damage_untold(struct journal_damage *damage, uint64_t position);

#endif
