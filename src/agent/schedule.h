/* Ticks of several periods on one timer. Every tick is at a multiple of its period since the epoch (UTC), so that all
 * nodes read at the same time, also after the clock was set. */
#ifndef SONDE_AGENT_SCHEDULE_H
#define SONDE_AGENT_SCHEDULE_H

#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SCHEDULE_PERIOD_MIN_NS NS_PER_MS
#define SCHEDULE_PERIOD_MAX_NS (7 * 24 * 3600 * NS_PER_S)
#define SCHEDULE_SLOTS_MAX 256

/* A tick that starts later than this (or half its period, if that is less) is late. */
#define SCHEDULE_LATE_NS (10 * NS_PER_MS)

struct schedule_counts {
    uint64_t ticks;    /* that were due */
    uint64_t late;     /* of these, started late */
    uint64_t missed;   /* ticks whose time had passed before they could start: they are skipped */
    uint64_t worst_ns; /* longest delay */
};

struct schedule_slot {
    uint64_t period_ns; /* 0: unused slot */
    uint64_t next_ns;   /* CLOCK_REALTIME; a multiple of the period, except for the first of a long one */
    bool due;           /* since the last schedule_update */
    struct schedule_counts counts;
};

struct schedule {
    int fd; /* readable when a tick is due or the clock was set: then schedule_read, schedule_update, schedule_arm */
    bool only_clock_changes; /* fd only signals that the clock was set: callers that can sleep to the nanosecond need
                              * no timer for ticks */
    struct schedule_slot slots[SCHEDULE_SLOTS_MAX];
    size_t count;                      /* slots in use are below */
    struct schedule_counts counts;     /* of the wakeups for any slot, by the slot that was latest */
    uint64_t late_ns;                  /* delay of the last wakeup */
    uint64_t ahead_ns;                 /* CLOCK_REALTIME minus CLOCK_MONOTONIC at the last update */
    uint64_t clock_sets;               /* how often the clock was set */
    uint64_t armed_ns, armed_every_ns; /* what the timer is set to */
};

enum err schedule_open(struct schedule *schedule);
void schedule_close(struct schedule *schedule);

/* A slot for this period. Its first tick is at the next multiple of it, or of a second if that is less. USAGE: out of
 * range; FULL. */
enum err schedule_add(struct schedule *schedule, uint64_t period_ns, uint64_t real_ns, size_t *slot);

/* Changes the period. The next tick is at the next multiple of the new one, so that no pause is longer than either
 * period. */
enum err schedule_change(struct schedule *schedule, size_t slot, uint64_t period_ns, uint64_t real_ns);
void schedule_remove(struct schedule *schedule, size_t slot);

/* Sets the next tick of slots without a tick again, so that slots added one after the other start with the same tick. */
void schedule_align_first_ticks(struct schedule *schedule, uint64_t real_ns);

/* Marks the slots that are due and sets their next tick. If the clock was set since the last call (the two clocks moved
 * apart), all next ticks are recomputed: no gap when it was set back, no burst when it was set forward. Returns how
 * many are due. */
size_t schedule_update(struct schedule *schedule, uint64_t real_ns, uint64_t monotonic_ns);

/* Consumes what made fd readable. */
void schedule_read(struct schedule *schedule);

/* Time of the next tick, CLOCK_REALTIME; UINT64_MAX: never. */
uint64_t schedule_next_ns(const struct schedule *schedule);

/* Sets the timer to the next slot, unless it is set already. */
enum err schedule_arm(struct schedule *schedule);

#endif
