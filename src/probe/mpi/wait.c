/* Estimates the minimum time of a call until a faster one has been seen. */
#include "probe/mpi/wait.h"

#include "base/clock.h"
#include "appmetrics/segment_format.h"

#include <stddef.h>

static const struct network {
    double latency_ns, byte_ns;
} poor = { 20000, 10 }, good = { 1000, 0.1 };
#define LEARN_NS 1000000u /* shorter intervals do not give a reliable ratio */

static double ticks_per_ns = 2.5; /* a guess, until wait_calibrate knows */

void wait_calibrate(void)
{
    static uint64_t first_ns, first_ticks;
    uint64_t now_ns = clock_monotonic_ns(), now_ticks = segment_ticks();
    if (!first_ns) {
        first_ns = now_ns;
        first_ticks = now_ticks;
    } else if (now_ns - first_ns > LEARN_NS) {
        ticks_per_ns = (double)(now_ticks - first_ticks) / (double)(now_ns - first_ns);
    }
}

/* Ticks of a call with this many bytes and ranks. */
static uint64_t needed_on(const struct network *network, unsigned doublings, double bytes)
{
    return (uint64_t)((network->latency_ns * (1 + doublings) + network->byte_ns * bytes) * ticks_per_ns);
}

/* A call that took longer than any should need says nothing about the next one. */
uint64_t wait_update_minimum(uint32_t function, uint64_t *inverted, uint64_t ticks) /* NOLINT(readability-non-const-parameter) */
{
    size_t place = (size_t)(inverted - function_waits[function].inverted[0]);
    unsigned doublings = (unsigned)(place / WAIT_SIZES);
    double bytes = (double)(1ull << place % WAIT_SIZES);
    uint64_t most = needed_on(&poor, doublings, 2 * bytes), least = needed_on(&good, doublings, bytes) & ~1ull;
    if (ticks >= most)
        return ticks - most;
    __atomic_store_n(inverted, ~(ticks > least ? ticks | 1 : least), __ATOMIC_RELAXED);
    return 0;
}
