/* The least times, shared by all threads: who loses a race forgets a number that the next call finds again. */
#include "probe/mpi/wait.h"

#include "base/clock.h"
#include "probe/mpi/call.h"

#define LATENCY_NS 20000u
#define BYTE_NS 10u
#define LEARN_NS 1000000u /* within less than this the clocks tell nothing */

static double ticks_per_ns = 2.5; /* a guess, until wait_learn knows */

void wait_learn(void)
{
    static uint64_t first_ns, first_ticks;
    uint64_t now_ns = clock_monotonic_ns(), now_ticks = board_ticks();
    if (!first_ns) {
        first_ns = now_ns;
        first_ticks = now_ticks;
    } else if (now_ns - first_ns > LEARN_NS) {
        ticks_per_ns = (double)(now_ticks - first_ticks) / (double)(now_ns - first_ns);
    }
}

/* 0 for 0, else the place of the highest bit, from 1. */
static unsigned magnitude(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

static uint64_t generous(uint64_t bytes, unsigned doublings)
{
    return (uint64_t)((double)(LATENCY_NS * (1 + doublings) + BYTE_NS * bytes) * ticks_per_ns);
}

uint64_t wait_ticks(uint32_t function, uint64_t ticks, uint64_t bytes, uint32_t ranks)
{
    unsigned size = magnitude(bytes), doublings = magnitude(ranks);
    size = size < WAIT_SIZES ? size : WAIT_SIZES - 1;
    doublings = doublings < WAIT_RANKS ? doublings : WAIT_RANKS - 1;
    uint32_t *least = &function_waits[function].least[doublings][size];
    uint32_t before = __atomic_load_n(least, __ATOMIC_RELAXED);
    if (!before || ticks < before - 1) {
        before = (uint32_t)(ticks < UINT32_MAX - 1 ? ticks : UINT32_MAX - 1) + 1;
        __atomic_store_n(least, before, __ATOMIC_RELAXED);
    }
    uint64_t needed = before - 1, limit = generous(bytes, doublings);
    needed = needed < limit ? needed : limit;
    return ticks > needed ? ticks - needed : 0;
}
