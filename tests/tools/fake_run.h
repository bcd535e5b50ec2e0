/* A run that never was: for tests and benches of what files, reads or shows runs. Looks like a build: a shell starts
 * make, which starts for each object sh -> gcc -> cc1, as. Numbers depend on the shape alone, so that two makes of one
 * shape are equal. */
#ifndef SONDE_TESTS_FAKE_RUN_H
#define SONDE_TESTS_FAKE_RUN_H

#include "model/run.h"

struct fake_shape {
    const char *run_id, *job_id, *name, *user, *host, *tags; /* NULL: a default */
    size_t processes;   /* at least 1 */
    unsigned threads;   /* each tenth process has so many (0, 1: all have one) */
    unsigned events;    /* perf events counted per thread, at most 4 */
    size_t samples;     /* rows of each series; 0: no series */
    uint64_t start_ns;  /* 0: a fixed time */
};

struct fake_run {
    struct run run;
    char *memory; /* one piece, texts and arrays in it */
    size_t used, room;
};

/* Aborts when memory runs out. */
void fake_run_make(struct fake_run *fake, const struct fake_shape *shape);
void fake_run_clear(struct fake_run *fake);

#endif
