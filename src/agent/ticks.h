/* The shape over time: at each tick every sampler is read, and what it gives goes to the spool. */
#ifndef SONDE_AGENT_TICKS_H
#define SONDE_AGENT_TICKS_H

#include "agent/writer.h"
#include "sample/samplers.h"

#define TICKS_SETS_MAX 64

struct ticks {
    int fd; /* a timer, readable at each tick */
    uint64_t late; /* ticks that passed before we came to them */
    struct samplers *samplers;
    struct batch batch;
    struct buf values;
    struct writer *writer;
    struct set sets[TICKS_SETS_MAX]; /* described in the spool already; their place is their number */
    size_t set_count;
};

/* Ticks fall on multiples of the period, so that those of several nodes do. Borrows what context points to. */
enum err ticks_open(struct ticks *ticks, const struct sampler_context *context, uint64_t period_ns, struct writer *writer);

/* Harmless when it is not open (fd < 0). */
void ticks_close(struct ticks *ticks);

/* The timer has something to tell: samples once, and counts those that were missed. */
void ticks_read(struct ticks *ticks);

/* Samples now, besides the ticks: at the start and the end of a run. */
void ticks_sample(struct ticks *ticks);

#endif
