/* The timeline of a run: at each tick all samplers are read, and their samples written to the spool. */
#ifndef SONDE_RUN_TICKS_H
#define SONDE_RUN_TICKS_H

#include "model/program_sets.h"
#include "samplers/samplers.h"
#include "run/run_segments.h"
#include "run/run_syscalls.h"
#include "run/sample_writer.h"

struct ticks {
    int fd; /* a timer, readable at each tick */
    uint64_t late; /* missed ticks */
    uint64_t period_ns;
    uint64_t survivors_ns; /* CLOCK_MONOTONIC: since when only survivors are monitored; 0: the command is running */
    struct samplers *samplers;
    struct run_syscalls calls; /* opened by the code that starts the command */
    struct run_segments segments; /* likewise */
    struct batch batch;
    struct sample_writer out;
};

/* Ticks are multiples of the period, so that those of several nodes coincide. Borrows what context points to. */
enum err ticks_open(struct ticks *ticks, const struct sampler_context *context, uint64_t period_ns,
                    struct spool_writer *writer);

/* Harmless if not open (fd < 0). */
void ticks_close(struct ticks *ticks);

/* The timer has expired: samples once, and counts missed ticks. */
void ticks_read(struct ticks *ticks);

/* Samples now, in addition to the ticks. */
void ticks_sample(struct ticks *ticks);

/* When everything is ready for the command: ticks so far do not count as missed. */
void ticks_sample_first(struct ticks *ticks);

/* At the end of the run: no sampler skips this one to save time, since it covers the whole run. Includes program
 * metrics. */
void ticks_sample_last(struct ticks *ticks);

/* The command has ended, and this process was forked to monitor survivors, which may run for years: ticks have the
 * normal period at first, later a hundredth of the time elapsed. Uses a new timer. */
void ticks_start_survivors(struct ticks *ticks);

/* Records how system calls are counted in this run: model/program_sets.h. */
void ticks_record_syscall_way(struct ticks *ticks, enum syscall_way way);

#endif
