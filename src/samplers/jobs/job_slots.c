/* An array of pointers that grows to the largest slot. */
#include "samplers/jobs/job_slots.h"

#include "base/vec.h"

#include <stdlib.h>

static enum err reserve(struct job_slots *slots, uint32_t slot)
{
    return array_reserve_zeroed(slots->items, slots->capacity, (size_t)slot + 1, VEC_MAX);
}

enum err job_slots_add(struct job_slots *slots, uint32_t slot, size_t item_size, void **item)
{
    *item = NULL;
    enum err err = reserve(slots, slot);
    if (err)
        return err;
    if (!slots->items[slot])
        slots->items[slot] = calloc(1, item_size);
    *item = slots->items[slot];
    return *item ? OK : NOMEM;
}

void job_slots_drop(struct job_slots *slots, uint32_t slot)
{
    free(slots->items[slot]);
    slots->items[slot] = NULL;
}

void job_slots_clear(struct job_slots *slots)
{
    for (size_t i = 0; i < slots->capacity; i++)
        free(slots->items[i]);
    free(slots->items);
    *slots = (struct job_slots){ 0 };
}
