/* Scopes (the node, users, jobs) and the values in them. For those who put values into table.c; all under its lock. */
#ifndef SONDE_APPMETRICS_CELLS_H
#define SONDE_APPMETRICS_CELLS_H

#include "appmetrics/table.h"

#define PROGRAM_NUMBER_MAX 16 /* bytes of a user's number as a text */

/* Finds or makes. NULL: no memory. A user's is the node's own where the table does not part them. */
struct program_scope *program_scope_user(struct program_table *table, uint32_t uid);
struct program_scope *program_scope_job(struct program_table *table, const char *id, uint32_t uid);

/* The job of this id that is there; NULL: none. */
struct program_scope *program_scope_find(const struct program_table *table, const char *id, uint32_t uid);

/* A program comes, a program goes. */
void program_scope_join(struct program_scope *scope);
void program_scope_leave(struct program_scope *scope);

/* Whose a job or a user's scope is: by number, which is written there, where there is no name, or none yet. */
const char *program_scope_user_name(const struct program_scope *scope, char number[PROGRAM_NUMBER_MAX]);

/* Makes its labels anew: its user's name is known now. */
void program_scope_name(struct program_table *table, struct program_scope *scope);

/* All that was ever told in it goes into the samples that are written next, though it has not changed. */
void program_scope_tell(struct program_table *table, struct program_scope *scope);

/* Frees it with all its values; no program may be in it. What it counted stays in what includes it. */
void program_scope_drop(struct program_table *table, struct program_scope *scope);

/* Finds or makes the cell of metric in scope. NULL: no memory, or the jobs of its user have too many (counted). */
struct program_cell *program_cell_of(struct program_table *table, struct program_metric *metric, struct program_scope *scope);

/* For quota.c: frees all cells of a metric that is idle. */
void program_cells_drop(struct program_table *table, struct program_metric *metric);

/* For table.c and cells.c: a zeroed cell gets its aliases and what it needs to count. NOMEM. */
enum err program_cell_init(struct program_table *table, struct program_cell *cell, struct program_metric *metric,
                           struct program_scope *scope);

/* It counts system calls, as our probe or as tau's tracer names them, of a job whose calls the kernel counts: then it says
 * nothing new. */
bool program_cell_is_counted(const struct program_cell *cell);

/* It is no longer among those that have changed. */
void program_cell_clean(struct program_table *table, struct program_cell *cell);

/* What a counter has grown by. What is no number, or infinite, is refused; so is what is negative: a counter does not fall.
 * False: it was. A sum that is more than a double can say is infinite from then on, in this cell or those above it alone. */
bool program_cell_add(struct program_table *table, struct program_cell *cell, double increment, uint64_t now_ns);

/* The same where a program's own sum has become infinite. */
void program_cell_overflow(struct program_table *table, struct program_cell *cell, uint64_t now_ns);

/* New observations of a histogram: the metric's bound_count + 1 buckets, and their sum, which may be infinite as above. False:
 * the sum is no number, and was refused. */
bool program_cell_observe(struct program_table *table, struct program_cell *cell, const double *buckets, double sum,
                          uint64_t now_ns);

/* A gauge of a live program. Zeroed before. What is not a number is not known: it would spoil the sum of all others. */
void program_hold_join(struct program_hold *hold, struct program_cell *cell);
void program_hold_set(struct program_table *table, struct program_hold *hold, double value, uint64_t now_ns);
void program_hold_unset(struct program_table *table, struct program_hold *hold, uint64_t now_ns); /* it is not known any more */
void program_hold_leave(struct program_table *table, struct program_hold *hold, uint64_t now_ns); /* not freed */

/* Are there cells of scope for these metrics? Those that are new are made. Holds that are NULL are passed over. */
bool program_holds_fit(struct program_table *table, struct program_hold *const *holds, size_t count, struct program_scope *scope);

/* What its program tells of any metric counts in another cell of the same metric from now on. */
void program_hold_move(struct program_table *table, struct program_hold *hold, struct program_cell *cell, uint64_t now_ns);

void program_gauge_add(struct program_gauge *gauge, double value);

#endif
