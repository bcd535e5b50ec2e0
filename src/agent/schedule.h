/* When is it time? Ticks of several periods on one timer. Every tick falls on a multiple of its period of the time of day
 * (UTC, since 1970), so that all nodes read at the same moment, and stays there when the clock is set. */
#ifndef SONDE_AGENT_SCHEDULE_H
#define SONDE_AGENT_SCHEDULE_H

#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SCHEDULE_PERIOD_MIN_NS NS_PER_MS
#define SCHEDULE_PERIOD_MAX_NS (7 * 24 * 3600 * NS_PER_S)
#define SCHEDULE_SLOTS_MAX 256

/* Begun later than this after its time (or half its period, if that is less), a tick is late. */
#define SCHEDULE_LATE_NS (10 * NS_PER_MS)

struct schedule_counts {
    uint64_t ticks;    /* that were due */
    uint64_t late;     /* of these, begun late */
    uint64_t missed;   /* ticks whose time had passed before anybody could begin: they are not made up for */
    uint64_t worst_ns; /* the latest beginning */
};

struct schedule_slot {
    uint64_t period_ns; /* 0: the slot is free */
    uint64_t next_ns;   /* CLOCK_REALTIME; a multiple of the period, but for the first of a long one */
    bool due;           /* since the last schedule_turn */
    struct schedule_counts counts;
};

struct schedule {
    int fd; /* readable when a tick is due or the clock was set: then schedule_read, schedule_turn, schedule_arm */
    bool only_sets; /* fd tells only that the clock was set: who can sleep to the nanosecond needs no timer for ticks */
    struct schedule_slot slots[SCHEDULE_SLOTS_MAX];
    size_t count;              /* slots in use are below */
    struct schedule_counts counts; /* of the wakings for any slot, by the slot that was latest */
    uint64_t late_ns;          /* how late the last waking was */
    uint64_t ahead_ns;         /* by how much CLOCK_REALTIME was ahead of CLOCK_MONOTONIC at the last look */
    uint64_t clock_sets;       /* how often somebody set the clock */
    uint64_t armed_ns, armed_every_ns; /* what the timer is set to */
};

enum err schedule_open(struct schedule *schedule);
void schedule_close(struct schedule *schedule);

/* A slot for this period. Its first tick is the next multiple of it, or of a second when that is less. USAGE: out of
 * bounds; FULL. */
enum err schedule_add(struct schedule *schedule, uint64_t period_ns, uint64_t real_ns, size_t *slot);

/* Changes the period; the next tick is the next multiple of the new one, so that there is no longer pause than one of
 * either. */
enum err schedule_change(struct schedule *schedule, size_t slot, uint64_t period_ns, uint64_t real_ns);
void schedule_remove(struct schedule *schedule, size_t slot);

/* Aims slots that have not ticked yet anew, so that those which were added one after another begin with the same tick. */
void schedule_begin_together(struct schedule *schedule, uint64_t real_ns);

/* Marks the slots that are due and aims them at their next multiple. When the clock was set since the last call (the two
 * clocks moved apart), ticks are aimed anew: no hole as long as it was set back, no storm as long as it was set forward.
 * Returns how many are due. */
size_t schedule_turn(struct schedule *schedule, uint64_t real_ns, uint64_t monotonic_ns);

/* Takes what made fd readable. */
void schedule_read(struct schedule *schedule);

/* When the next tick is due, CLOCK_REALTIME; UINT64_MAX: never. */
uint64_t schedule_next_ns(const struct schedule *schedule);

/* Sets the timer, when it is not set so already, to the slot that is next. */
enum err schedule_arm(struct schedule *schedule);

#endif
