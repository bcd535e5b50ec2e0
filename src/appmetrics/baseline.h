/* What programs that live had counted before they came into the jobs that they are in: it is on their boards, which the next
 * agent reads from their beginning, and is not the jobs'. It stands at the end of the file of state.h. What has to do
 * with holds is under the table's lock. */
#ifndef SONDE_APPMETRICS_BASELINE_H
#define SONDE_APPMETRICS_BASELINE_H

#include "appmetrics/ranks.h"
#include "appmetrics/table.h"

/* Of one board, from the file. */
struct program_base;
void program_base_free(struct program_base **base);

/* Those of boards that have not been opened yet. Zeroed at first. */
struct program_bases {
    struct program_base *list;
};

void program_bases_clear(struct program_bases *bases);

/* The metric of hold is another's from here on: notes what it has counted so far, and whether that was in a job. */
void program_bases_move(struct program_table *table, struct program_hold *hold);

/* The part of the file: those of boards that are read, those that are still to be opened, the end. False: there is none. Behind
 * it the same of their ranks. */
bool program_bases_add(struct buf *file, const char *name, uint64_t inode, struct program_hold *const *holds, size_t count);
bool program_bases_add_all(struct buf *file, const struct program_bases *bases);
bool program_bases_add_ranks(struct buf *file, const char *name, uint64_t inode, const struct program_ranks *ranks);
bool program_bases_add_all_ranks(struct buf *file, const struct program_bases *bases);
void program_bases_end(struct buf *file);

/* Takes these parts. What is behind a damage is left out (unpacker.bad). */
struct unpacker;
void program_bases_take(struct program_bases *bases, struct unpacker *u);
void program_bases_take_ranks(struct program_bases *bases, struct unpacker *u);

/* Takes out that of a board which is opened; NULL: there is none of that file. The caller frees it. */
struct program_base *program_bases_find(struct program_bases *bases, const char *name, uint64_t inode);

/* The same of its ranks, whose metrics are there. */
void program_base_begin(const struct program_base *base, struct program_ranks *ranks);

/* Puts it into a new hold: its cell has only what comes from there on. What of it was in no job is counted for user. */
void program_base_apply(const struct program_base *base, struct program_table *table, struct program_hold *hold,
                        struct program_scope *user);

#endif
