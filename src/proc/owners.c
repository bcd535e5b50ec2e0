/* A table from pids to chains of owners, which stand in one array. */
#include "proc/owners.h"

#include <stdlib.h>

#define ROOM_FIRST 64

void owners_clear(struct owners *owners)
{
    pidmap_clear(&owners->map);
    free(owners->list);
    *owners = (struct owners){ 0 };
}

void owners_reset(struct owners *owners)
{
    pidmap_reset(&owners->map);
    owners->count = 0;
}

static enum err make_room(struct owners *owners)
{
    if (owners->count < owners->room)
        return OK;
    size_t room = owners->room ? owners->room * 2 : ROOM_FIRST;
    struct owner *list = realloc(owners->list, room * sizeof *list);
    if (!list)
        return NOMEM;
    owners->list = list;
    owners->room = room;
    return OK;
}

enum err owners_put(struct owners *owners, uint32_t pid, uint32_t slot, uint32_t serial, uint32_t value)
{
    uint32_t first = owners_first(owners, pid);
    for (uint32_t i = first; i != OWNERS_NONE; i = owners->list[i].next)
        if (owners->list[i].slot == slot && owners->list[i].serial == serial) {
            owners->list[i].value = value;
            return OK;
        }
    enum err err = make_room(owners);
    if (!err)
        err = pidmap_put(&owners->map, pid, (uint32_t)owners->count);
    if (!err)
        owners->list[owners->count++] = (struct owner){ slot, serial, value, first };
    return err;
}

uint32_t owners_first(const struct owners *owners, uint32_t pid)
{
    return pidmap_get(&owners->map, pid);
}
