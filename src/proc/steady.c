/* A counter that never falls, from sums that sometimes do. */
#include "proc/steady.h"

uint64_t steady_update(struct steady *steady, uint64_t sum, uint64_t tolerance)
{
    uint64_t value = sum + steady->forgotten;
    if (value >= steady->shown) {
        steady->has_fallen = false;
        return steady->shown = value;
    }
    if (steady->shown - value <= tolerance)
        return steady->shown;
    if (!steady->has_fallen) {
        steady->has_fallen = true;
        steady->fell_to = value;
        return steady->shown;
    }
    /* What grew since the fall is real. */
    uint64_t lowest = steady->fell_to < value ? steady->fell_to : value;
    uint64_t missing = steady->shown - lowest;
    steady->forgotten += missing;
    steady->has_fallen = false;
    return steady->shown = value + missing;
}
