/* Copies a kernel counter into a sample so that a decrease is never reported as a negative rate:
 * - A decrease of less than 1 % is imprecision of the kernel (idle time, sums over CPUs): the previous value is
 * reported
 *   until the counter has caught up.
 * - A larger decrease means that counting restarted (a device came back, a driver was reset): the value is left out of
 * one
 *   sample, so that there is a gap before the smaller value.
 * - A 32-bit counter that wraps is continued in 64 bits (counter_unwrap32). */
#ifndef SONDE_SAMPLERS_COUNTER_H
#define SONDE_SAMPLERS_COUNTER_H

#include "model/batch.h"

/* False: counting restarted, leave *value out of this sample. *last is the previous value, 0 at first. */
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

/* Sets counter i of sample, unless counting restarted. */
static inline void counter_set(struct sample *sample, size_t i, uint64_t value, uint64_t *last)
{
    if (counter_take(last, &value))
        sample_set_u64(sample, i, value);
}

/* Extends a 32-bit counter of the kernel to 64 bits. *wide is the previous result, 0 at first. Only a step from the
 * highest sixteenth of the range to the lowest counts as a wrap; any other decrease is a restart. */
static inline uint64_t counter_unwrap32(uint64_t *wide, uint64_t raw)
{
    uint64_t high = *wide & ~(uint64_t)UINT32_MAX, low = *wide & UINT32_MAX;
    if (raw > UINT32_MAX) /* it is wider than 32 bits */
        high = 0;
    else if (raw < low && low >= 0xf0000000u && raw < 0x10000000u)
        high += (uint64_t)UINT32_MAX + 1;
    else if (raw < low && low - raw > low / 100)
        high = 0;
    return *wide = high + raw;
}

#endif
