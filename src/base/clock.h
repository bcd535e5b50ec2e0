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

/* Since 1970, as in records and tables. */
static inline uint64_t clock_realtime_ns(void) { return clock_ns(CLOCK_REALTIME); }

/* For intervals and ticks. */
static inline uint64_t clock_monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* CLOCK_REALTIME minus CLOCK_MONOTONIC. Repeats until the reading of one clock falls into a short interval of the other:
 * being preempted between two readings would give an error as large, and events of the two clocks would change their
 * order. */
static inline uint64_t clock_offset_ns(void)
{
    uint64_t offset_ns = 0, width_ns = UINT64_MAX;
    for (int i = 0; i < 8 && width_ns > NS_PER_US / 2; i++) {
        uint64_t before_ns = clock_monotonic_ns(), real_ns = clock_realtime_ns(), after_ns = clock_monotonic_ns();
        if (after_ns - before_ns >= width_ns)
            continue;
        width_ns = after_ns - before_ns;
        offset_ns = real_ns - before_ns - width_ns / 2;
    }
    return offset_ns;
}

#endif
