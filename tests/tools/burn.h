/* Uses CPU time, measured by the clock that the kernel charges. */
#ifndef SONDE_TESTS_TOOLS_BURN_H
#define SONDE_TESTS_TOOLS_BURN_H

#include <time.h>

static inline long burn_used_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the clock (CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID) has gone on by ms. */
static inline void burn(clockid_t clock, long ms)
{
    volatile double x = 1;
    long end = burn_used_ms(clock) + ms;
    while (burn_used_ms(clock) < end)
        for (int i = 0; i < 20000; i++)
            x = x * 1.0000001;
}

#endif
