/* The shape over time: at each tick every sampler is read, and what it gives goes to the spool. */
#ifndef SONDE_RUN_TICKS_H
#define SONDE_RUN_TICKS_H

#include "model/program_sets.h"
#include "samplers/samplers.h"
#include "run/run_segments.h"
#include "run/run_syscalls.h"
#include "run/sample_writer.h"

struct ticks {
    int fd; /* a timer, readable at each tick */
    uint64_t late; /* ticks that passed before we came to them */
    uint64_t period_ns;
    uint64_t rest_ns; /* CLOCK_MONOTONIC: since when only the rest is watched; 0: the command runs */
    struct samplers *samplers;
    struct run_calls calls; /* opened by whoever starts the command */
    struct run_boards boards; /* likewise */
    struct batch batch;
    struct sample_writer out;
};

/* Ticks fall on multiples of the period, so that those of several nodes do. Borrows what context points to. */
enum err ticks_open(struct ticks *ticks, const struct sampler_context *context, uint64_t period_ns, struct writer *writer);

/* Harmless when it is not open (fd < 0). */
void ticks_close(struct ticks *ticks);

/* The timer has something to tell: samples once, and counts those that were missed. */
void ticks_read(struct ticks *ticks);

/* Samples now, besides the ticks. */
void ticks_sample(struct ticks *ticks);

/* At the start of a run, when all is ready for the command: ticks that went by meanwhile are not late. */
void ticks_sample_first(struct ticks *ticks);

/* At its end: no sampler leaves this one out to save time, since it is the whole run. With what was counted of the programs. */
void ticks_sample_last(struct ticks *ticks);

/* The command has ended, and this process was forked to watch what it left: that may run for years. Ticks go on with the period
 * at first, later in a hundredth of the time that has passed by then. The timer is another one. */
void ticks_begin_rest(struct ticks *ticks);

/* How system calls are counted in this run: model/program_sets.h. */
void ticks_tell_way(struct ticks *ticks, enum syscall_way way);

#endif
