/* Time, always in nanoseconds. */
#ifndef SONDE_BASE_CLOCK_H
#define SONDE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Since 1970: what records and tables hold. */
static inline uint64_t clock_realtime_ns(void) { return clock_ns(CLOCK_REALTIME); }

/* For intervals and ticks. */
static inline uint64_t clock_monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

#endif
