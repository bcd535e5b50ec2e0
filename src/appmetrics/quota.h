/* Room for metrics in the table of programs: what a user may take of it, and whose names make place when it is full. Names that
 * no program has and no job are idle: they show what was counted, until somebody needs their place. For those who hold
 * metrics; under the table's lock. */
#ifndef SONDE_APPMETRICS_QUOTA_H
#define SONDE_APPMETRICS_QUOTA_H

#include "appmetrics/table.h"

/* Somebody holds the metric: a program, a cell of a job, or a cell that has it as an alias. */
void program_room_use(struct program_table *table, struct program_metric *metric);
void program_room_leave(struct program_table *table, struct program_metric *metric);

/* Whose the metrics are that a program of this scope names: its user, or the node, which all share. NULL: no memory. */
struct program_scope *program_room_owner(struct program_table *table, struct program_scope *scope);

/* May the owner name one more, of so many places? Users may hold as many as are still left for the others. Idle ones make
 * place. */
bool program_room_make(struct program_table *table, const struct program_scope *owner, size_t places);

/* A metric that is there, before a program of this scope uses it: an idle one comes to its owner, who must have room for it.
 * FULL: it has not, which the caller counts; NOMEM. */
enum err program_room_claim(struct program_table *table, struct program_metric *metric, struct program_scope *scope);

/* Makes room for another of its name. False: it is in use, or of a job that goes on. */
bool program_room_drop(struct program_table *table, struct program_metric *metric);

/* A new metric, in use by its maker, comes to the owner. */
void program_room_add(struct program_metric *metric, struct program_scope *owner);

/* Frees what had to go. Samples that borrow its name must have been written. */
void program_room_bury(struct program_table *table);

/* Before scopes are dropped for good: nobody owns anything any more. */
void program_room_close(struct program_table *table);

#endif
