/* Counters of the kernel on their way into a sample, so that one that falls is seen to have fallen.
 *
 * A difference of two values that were given is never less than nothing in disguise:
 * - A fall by less than a hundredth is the kernel's own inexactness (idle time, sums over CPUs): the old value is given
 *   until the counter has caught up.
 * - A larger fall means that counting began anew (a device that came back, a driver that was reset). The value is left
 *   out of that reading, and the new count is given from the next on: a hole, then a smaller value.
 * - A counter of 32 bits that passes its end goes on above it (counter_unwrap32). */
#ifndef SONDE_SAMPLERS_COUNTER_H
#define SONDE_SAMPLERS_COUNTER_H

#include "model/batch.h"

/* False: it began anew, leave *value out. Zero *last at first; afterwards it is what was taken last. */
static inline bool counter_take(uint64_t *last, uint64_t *value)
{
    uint64_t before = *last;
    if (*value < before && before - *value <= before / 100) {
        *value = before;
        return true;
    }
    *last = *value;
    return *value >= before;
}

/* Writes counter i of sample, unless it began anew. */
static inline void counter_set(struct sample *sample, size_t i, uint64_t value, uint64_t *last)
{
    if (counter_take(last, &value))
        sample_set_u64(sample, i, value);
}

/* raw, which the kernel counts in 32 bits, continued beyond them. *wide is what came out last; 0 at first. Only a step
 * from the highest sixteenth into the lowest is taken for a passed end: anything else that falls is a new beginning. */
static inline uint64_t counter_unwrap32(uint64_t *wide, uint64_t raw)
{
    uint64_t high = *wide & ~(uint64_t)UINT32_MAX, low = *wide & UINT32_MAX;
    if (raw > UINT32_MAX) /* it has more bits after all */
        high = 0;
    else if (raw < low && low >= 0xf0000000u && raw < 0x10000000u)
        high += (uint64_t)UINT32_MAX + 1;
    else if (raw < low && low - raw > low / 100)
        high = 0;
    return *wide = high + raw;
}

#endif
