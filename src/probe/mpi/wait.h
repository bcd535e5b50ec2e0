/* How much of a call was spent waiting for other ranks. It cannot be measured, so it is inferred: the time beyond
 * the minimum that a call of this function with about as many bytes and ranks has taken so far in this process. The
 * minimum has bounds: it is at least the time on a fast network (1 us per doubling of the ranks and 0.1 ns per
 * byte), so that one exceptionally short call does not make all others look slow, and at most that on a slow network
 * (20 us and 10 ns), so that a rank which always waits does not take its waiting for the cost of the call. */
#ifndef SONDE_PROBE_MPI_WAIT_H
#define SONDE_PROBE_MPI_WAIT_H

#include <stdint.h>

enum { WAIT_SIZES = 64, WAIT_RANKS = 16 };

/* Minimum ticks by the logarithm of ranks and bytes: odd, or even if it cannot become smaller. Inverted (~), so that
 * the initial 0 means "longer than any call". */
struct function_waits {
    uint64_t inverted[WAIT_RANKS][WAIT_SIZES];
};
extern struct function_waits function_waits[];

/* For a call faster than the minimum so far, or the first of its kind: updates the minimum and returns the ticks
 * spent waiting. */
uint64_t wait_update_minimum(uint32_t function, uint64_t *inverted, uint64_t ticks);

/* Calibrates the length of a tick: needs two calls with some time in between, such as MPI_Init takes. */
void wait_calibrate(void);

/* Index of the highest bit. */
static inline unsigned wait_magnitude(uint64_t value)
{
    return 63 ^ (unsigned)__builtin_clzll(value | 1);
}

/* Calls of one function with about as many bytes and ranks. */
struct wait_kind {
    uint64_t *inverted, needed;
};

static inline __attribute__((always_inline)) struct wait_kind wait_find(uint32_t function, uint64_t bytes, uint32_t ranks)
{
    unsigned size = wait_magnitude(bytes), doublings = ranks ? wait_magnitude(ranks) + 1 : 0;
    doublings = doublings < WAIT_RANKS ? doublings : WAIT_RANKS - 1;
    uint64_t *inverted = &function_waits[function].inverted[doublings][size];
    return (struct wait_kind){ inverted, ~__atomic_load_n(inverted, __ATOMIC_RELAXED) };
}

/* Ticks of a call that were spent waiting. Shared by all threads: a lost update is repeated by the next call. */
static inline __attribute__((always_inline)) uint64_t wait_ticks(uint32_t function, const struct wait_kind *kind,
                                                                 uint64_t ticks)
{
    if (__builtin_expect(ticks >= kind->needed, 1))
        return ticks - kind->needed;
    if (__builtin_expect(!(kind->needed & 1), 1))
        return 0;
    return wait_update_minimum(function, kind->inverted, ticks);
}

#endif
