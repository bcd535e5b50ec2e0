/* The numbers of each process image and of its threads. */
#ifndef SONDE_COLLECT_NUMBERS_H
#define SONDE_COLLECT_NUMBERS_H

#include "collect/io.h"
#include "collect/threads.h"
#include "collect/usage.h"
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
