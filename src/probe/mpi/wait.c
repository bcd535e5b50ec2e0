/* What waiting is measured by, until a call has shown that it needs less. */
#include "probe/mpi/wait.h"

#include "base/clock.h"
#include "appmetrics/segment_format.h"

#include <stddef.h>

static const struct network {
    double latency_ns, byte_ns;
} poor = { 20000, 10 }, good = { 1000, 0.1 };
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

/* Ticks of a call with so many bytes and ranks. */
static uint64_t needed_on(const struct network *network, unsigned doublings, double bytes)
{
    return (uint64_t)((network->latency_ns * (1 + doublings) + network->byte_ns * bytes) * ticks_per_ns);
}

/* One that took more than anybody may need tells nothing of what the next one needs. */
uint64_t wait_less(uint32_t function, uint64_t *turned, uint64_t ticks) /* NOLINT(readability-non-const-parameter) */
{
    size_t place = (size_t)(turned - function_waits[function].turned[0]);
    unsigned doublings = (unsigned)(place / WAIT_SIZES);
    double bytes = (double)(1ull << place % WAIT_SIZES);
    uint64_t most = needed_on(&poor, doublings, 2 * bytes), least = needed_on(&good, doublings, bytes) & ~1ull;
    if (ticks >= most)
        return ticks - most;
    __atomic_store_n(turned, ~(ticks > least ? ticks | 1 : least), __ATOMIC_RELAXED);
    return 0;
}
