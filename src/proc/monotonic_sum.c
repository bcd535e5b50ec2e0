/* A counter that never decreases, from sums that sometimes do. */
#include "proc/monotonic_sum.h"

uint64_t monotonic_sum_update(struct monotonic_sum *sum, uint64_t value, uint64_t tolerance)
{
    value += sum->lost;
    if (value >= sum->reported) {
        sum->has_dropped = false;
        return sum->reported = value;
    }
    if (sum->reported - value <= tolerance)
        return sum->reported;
    if (!sum->has_dropped) {
        sum->has_dropped = true;
        sum->low_value = value;
        return sum->reported;
    }
    /* Growth since the drop is real. */
    uint64_t lowest = sum->low_value < value ? sum->low_value : value;
    uint64_t missing = sum->reported - lowest;
    sum->lost += missing;
    sum->has_dropped = false;
    return sum->reported = value + missing;
}
