/* What a sampler keeps for each job, by the job's slot. An item stays where it is in memory until all are cleared. */
#ifndef SONDE_SAMPLERS_JOBS_JOB_SLOTS_H
#define SONDE_SAMPLERS_JOBS_JOB_SLOTS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. */
struct job_slots {
    void **items; /* NULL: the slot was never used */
    size_t capacity;
};

/* The item of the slot, zeroed when it was never used before; *item is NULL when memory ran out. */
enum err job_slots_add(struct job_slots *slots, uint32_t slot, size_t item_size, void **item);

/* NULL: the slot was never used. */
static inline void *job_slots_get(const struct job_slots *slots, uint32_t slot)
{
    return slot < slots->capacity ? slots->items[slot] : NULL;
}

/* Frees the item of a slot that has one. */
void job_slots_drop(struct job_slots *slots, uint32_t slot);

void job_slots_clear(struct job_slots *slots); /* frees */

#endif
