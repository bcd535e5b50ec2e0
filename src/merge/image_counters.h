/* The numbers of each process image and of its threads. */
#ifndef SONDE_MERGE_IMAGE_COUNTERS_H
#define SONDE_MERGE_IMAGE_COUNTERS_H

#include "merge/io.h"
#include "merge/threads.h"
#include "merge/usage.h"
#include "model/run.h"

struct numbers {
    const struct events *events;
    const struct lives *lives;
    const struct images *images;
    const struct usage *usage;
    const struct io *io;
    struct threads_scratch scratch;
    struct run *run;
};

/* Fills the counters of the process and adds its threads to the run's. */
enum err numbers_fill(struct numbers *numbers, uint32_t image, struct process *process);

#endif
