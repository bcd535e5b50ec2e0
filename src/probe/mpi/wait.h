/* How much of a call was waiting for others. Nobody tells, so it is inferred: what a call took longer than it needed, where
 * "needed" is the least that a call of this function with about as many bytes and ranks has taken so far in this process.
 * But never less than on a good network (1 us for each doubling of the ranks, and 0.1 ns for each byte): that one short call was
 * shorter still than others says nothing. And never more than on a poor one (20 us, and 10 ns): so a rank that always waits
 * does not take its waiting for the price of the call, and one that comes last waits for nobody. */
#ifndef SONDE_PROBE_MPI_WAIT_H
#define SONDE_PROBE_MPI_WAIT_H

#include <stdint.h>

enum { WAIT_SIZES = 64, WAIT_RANKS = 16 };

/* What is needed, in ticks, by the logarithm of ranks and of bytes: odd, or even where it cannot be less. Turned (~), so that 0,
 * none yet, is more than any takes. */
struct function_waits {
    uint64_t turned[WAIT_RANKS][WAIT_SIZES];
};
extern struct function_waits function_waits[];

/* A call that took less than what was needed so far, where that can be less, or the first one of its kind: what of it was
 * waiting. */
uint64_t wait_less(uint32_t function, uint64_t *turned, uint64_t ticks);

/* How long a tick is; known when some time has passed since the first question, as MPI_Init takes. */
void wait_learn(void);

/* The place of the highest bit. */
static inline unsigned wait_magnitude(uint64_t value)
{
    return 63 ^ (unsigned)__builtin_clzll(value | 1);
}

/* Calls of one function with about as many bytes and ranks. */
struct wait_kind {
    uint64_t *turned, needed;
};

static inline __attribute__((always_inline)) struct wait_kind wait_find(uint32_t function, uint64_t bytes, uint32_t ranks)
{
    unsigned size = wait_magnitude(bytes), doublings = ranks ? wait_magnitude(ranks) + 1 : 0;
    doublings = doublings < WAIT_RANKS ? doublings : WAIT_RANKS - 1;
    uint64_t *turned = &function_waits[function].turned[doublings][size];
    return (struct wait_kind){ turned, ~__atomic_load_n(turned, __ATOMIC_RELAXED) };
}

/* Ticks of a call that were waiting. Shared by all threads: who loses a race forgets a number that the next call finds again. */
static inline __attribute__((always_inline)) uint64_t wait_ticks(uint32_t function, const struct wait_kind *kind, uint64_t ticks)
{
    if (__builtin_expect(ticks >= kind->needed, 1))
        return ticks - kind->needed;
    if (__builtin_expect(!(kind->needed & 1), 1))
        return 0;
    return wait_less(function, kind->turned, ticks);
}

#endif
