/* Puts the records of a spool together: which process was which, who was whose parent, what each one used. */
#ifndef SONDE_MERGE_MERGE_H
#define SONDE_MERGE_MERGE_H

#include "model/run.h"

/* A run and the memory that it lives in. */
struct merged {
    struct run run;
    struct merged_memory *memory; /* the mapped spool and arenas */
};

/* Reads the whole spool. ABSENT, DENIED, IO; CORRUPT when it has no run record; NOMEM. */
enum err merge_spool(struct merged *merged, const char *path);

/* The same from memory, which must stay until merge_clear. */
enum err merge_bytes(struct merged *merged, struct bytes spool);

void merge_clear(struct merged *merged);

#endif
