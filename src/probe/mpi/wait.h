/* How much of a call was waiting for others. Nobody tells, so it is inferred: what a call took longer than it needed, where
 * "needed" is the least that a call of this function with about as many bytes and ranks has taken so far in this process,
 * but never more than a generous network needs (20 us for each doubling of the ranks, and 10 ns for each byte). So a rank
 * that always waits does not take its waiting for the price of the call, and one that comes last waits for nobody. */
#ifndef SONDE_PROBE_MPI_WAIT_H
#define SONDE_PROBE_MPI_WAIT_H

#include <stdint.h>

enum { WAIT_SIZES = 48, WAIT_RANKS = 16 };

/* What is needed, in ticks, by the logarithm of ranks and of bytes; 0: none yet. */
struct function_waits {
    uint64_t needed[WAIT_RANKS][WAIT_SIZES];
};
extern struct function_waits function_waits[];

/* What a generous network needs for bytes and ranks of such logarithms. */
uint64_t wait_generous(unsigned doublings, unsigned size);

/* How long a tick is; known when some time has passed since the first question, as MPI_Init takes. */
void wait_learn(void);

/* 0 for 0, else the place of the highest bit, from 1. */
static inline unsigned wait_magnitude(uint64_t value, unsigned limit)
{
    unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    return bits < limit ? bits : limit - 1;
}

/* Ticks of a call that were waiting. Shared by all threads: who loses a race forgets a number that the next call finds again. */
static inline uint64_t wait_ticks(uint32_t function, uint64_t ticks, uint64_t bytes, uint32_t ranks)
{
    unsigned size = wait_magnitude(bytes, WAIT_SIZES), doublings = wait_magnitude(ranks, WAIT_RANKS);
    uint64_t *needed = &function_waits[function].needed[doublings][size];
    uint64_t before = __atomic_load_n(needed, __ATOMIC_RELAXED);
    if (__builtin_expect(before == 0, 0))
        before = wait_generous(doublings, size);
    if (ticks >= before)
        return ticks - before;
    __atomic_store_n(needed, ticks + !ticks, __ATOMIC_RELAXED);
    return 0;
}

#endif
