/* What programs have counted in jobs and nobody could read again: those that have gone, and those that tell it in messages. It is
 * kept in a file beside the boards. An agent that is started anew reads the boards of those that live from their beginning, and
 * has the rest from there, so that sums of a job go on. For state_file.c; all under the table's lock. */
#ifndef SONDE_APPMETRICS_STATE_H
#define SONDE_APPMETRICS_STATE_H

#include "base/buf.h"
#include "appmetrics/baseline.h"

/* Its program has gone; or a sum has grown that is on no board. */
void program_kept_leave(struct program_table *table, const struct program_hold *hold);
void program_kept_add(struct program_table *table, struct program_cell *cell, double increment);

/* The file, begun: then the boards of the programs that have gone since the one before, which are removed when it stands; then
 * all that is kept. Behind it comes what baseline.h writes, also where that is none. */
void program_kept_begin(struct buf *file);
void program_kept_board(struct buf *file, const char *name, uint64_t inode);
bool program_kept_end(struct program_table *table, struct buf *file); /* false: nothing is kept */

/* Behind that: what is kept of the ranks of jobs. */
bool program_kept_ranks(const struct program_table *table, struct buf *file);

/* Puts what it says into the table and bases; and tells of its boards, which are not to be read again. CORRUPT: what came before
 * counts; ABSENT: it is of another kind, or from before the machine was started. */
typedef void program_kept_hear(void *context, const char *name, uint64_t inode);
enum err program_kept_take(struct program_table *table, struct bytes file, struct program_bases *bases, program_kept_hear *hear,
                           void *context);

#endif
