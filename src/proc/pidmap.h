/* A map from pids or tids to numbers, emptied in constant time and reused at each tick. */
#ifndef SONDE_PROC_PIDMAP_H
#define SONDE_PROC_PIDMAP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define PIDMAP_NONE UINT32_MAX

struct pidmap_slot {
    uint32_t pid, value, round;
};

/* Zeroed: empty. */
struct pidmap {
    struct pidmap_slot *slots;
    size_t capacity, count; /* capacity is a power of two */
    uint32_t round;
};

void pidmap_clear(struct pidmap *map); /* frees the memory */
void pidmap_reset(struct pidmap *map); /* empties, keeps the memory */

/* The value, or PIDMAP_NONE. */
uint32_t pidmap_get(const struct pidmap *map, uint32_t pid);

/* Adds or replaces. NOMEM. */
enum err pidmap_put(struct pidmap *map, uint32_t pid, uint32_t value);

#endif
