/* A sampler's item for each job, by job.slot. An item does not move until it is dropped. */
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

/* Returns the item of the slot, zeroed if it is new; *item is NULL if memory ran out. */
enum err job_slots_add(struct job_slots *slots, uint32_t slot, size_t item_size, void **item);

/* NULL: the slot was never used. */
static inline void *job_slots_get(const struct job_slots *slots, uint32_t slot)
{
    return slot < slots->capacity ? slots->items[slot] : NULL;
}

/* Frees the item of a slot that has one. */
void job_slots_drop(struct job_slots *slots, uint32_t slot);

void job_slots_clear(struct job_slots *slots); /* frees all items */

#endif
