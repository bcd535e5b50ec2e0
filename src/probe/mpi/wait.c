/* What waiting is measured by, until a call has shown that it needs less. */
#include "probe/mpi/wait.h"

#include "base/clock.h"
#include "model/board.h"

#include <stddef.h>

#define LATENCY_NS 20000.0
#define BYTE_NS 10.0
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

/* What a generous network needs. */
static uint64_t generous(unsigned doublings, unsigned size)
{
    return (uint64_t)((LATENCY_NS * (1 + doublings) + BYTE_NS * 2 * (double)(1ull << size)) * ticks_per_ns);
}

/* One that took more than anybody may need tells nothing of what the next one needs. */
uint64_t wait_less(uint32_t function, uint64_t *turned, uint64_t ticks) /* NOLINT(readability-non-const-parameter) */
{
    size_t place = (size_t)(turned - function_waits[function].turned[0]);
    uint64_t most = generous((unsigned)(place / WAIT_SIZES), (unsigned)(place % WAIT_SIZES));
    if (ticks >= most)
        return ticks - most;
    __atomic_store_n(turned, ~ticks, __ATOMIC_RELAXED);
    return 0;
}
