/* Uses CPU time, measured by the kernel's CPU clocks. */
#ifndef SONDE_TESTS_TOOLS_BURN_H
#define SONDE_TESTS_TOOLS_BURN_H

#include <time.h>

static inline long long burn_used_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Until the clock (CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID) has advanced by ms. */
static inline void burn(clockid_t clock, long ms)
{
    volatile double x = 1;
    long long end = burn_used_ns(clock) + ms * 1000000LL;
    while (burn_used_ns(clock) < end)
        for (int i = 0; i < 20000; i++)
            x = x * 1.0000001;
}

#endif
