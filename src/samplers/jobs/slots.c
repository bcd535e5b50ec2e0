/* An array of pointers that grows to the largest slot. */
#include "samplers/jobs/slots.h"

#include <stdlib.h>

#define ROOM_FIRST 64

static enum err make_room(struct job_slots *slots, uint32_t slot)
{
    if (slot < slots->room)
        return OK;
    size_t room = slots->room ? slots->room : ROOM_FIRST;
    while (room <= slot)
        room *= 2;
    void **items = realloc(slots->items, room * sizeof(void *));
    if (!items)
        return NOMEM;
    for (size_t i = slots->room; i < room; i++)
        items[i] = NULL;
    slots->items = items;
    slots->room = room;
    return OK;
}

enum err job_slots_make(struct job_slots *slots, uint32_t slot, size_t item_size, void **item)
{
    *item = NULL;
    enum err err = make_room(slots, slot);
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
    for (size_t i = 0; i < slots->room; i++)
        free(slots->items[i]);
    free(slots->items);
    *slots = (struct job_slots){ 0 };
}
