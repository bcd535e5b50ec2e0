/* Merges the records of a spool into a run: its processes, their parents, and the resource usage of each. */
#ifndef SONDE_MERGE_MERGE_H
#define SONDE_MERGE_MERGE_H

#include "model/run.h"

/* A run and the memory that it points into. */
struct merged {
    struct run run;
    struct merged_memory *memory; /* the mapped spool and the arena */
};

/* Reads a whole spool. Errors: ABSENT, DENIED, IO, NOMEM; CORRUPT if it has no run record or an invalid id; FULL if
 * it takes longer than the thread's base/cpu_budget.h. */
enum err merge_spool(struct merged *merged, const char *path);

/* The same from memory, which must remain valid until merge_clear. */
enum err merge_bytes(struct merged *merged, struct bytes spool);

void merge_clear(struct merged *merged);

#endif
