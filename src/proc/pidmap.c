/* Open addressing. A slot is in use only if its round is that of the map. */
#include "proc/pidmap.h"

#include <stdlib.h>

#define INITIAL_CAPACITY 64

void pidmap_clear(struct pidmap *map)
{
    free(map->slots);
    *map = (struct pidmap){ 0 };
}

void pidmap_reset(struct pidmap *map)
{
    map->count = 0;
    map->round++;
}

/* The slot of the pid, or the free one where it belongs. There is always a free one. */
static struct pidmap_slot *find_slot(const struct pidmap *map, uint32_t pid)
{
    size_t i = (pid * 2654435761u) & (map->capacity - 1);
    while (map->slots[i].round == map->round && map->slots[i].pid != pid)
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

static enum err grow(struct pidmap *map)
{
    struct pidmap larger = { .capacity = map->capacity ? map->capacity * 2 : INITIAL_CAPACITY, .round = 1 };
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return NOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].round != map->round)
            continue;
        struct pidmap_slot *slot = find_slot(&larger, map->slots[i].pid);
        *slot = map->slots[i];
        slot->round = larger.round;
        larger.count++;
    }
    free(map->slots);
    *map = larger;
    return OK;
}

uint32_t pidmap_get(const struct pidmap *map, uint32_t pid)
{
    if (!map->capacity)
        return PIDMAP_NONE;
    const struct pidmap_slot *slot = find_slot(map, pid);
    return slot->round == map->round ? slot->value : PIDMAP_NONE;
}

enum err pidmap_put(struct pidmap *map, uint32_t pid, uint32_t value)
{
    if (map->count * 2 >= map->capacity) {
        enum err err = grow(map);
        if (err)
            return err;
    }
    struct pidmap_slot *slot = find_slot(map, pid);
    map->count += slot->round != map->round;
    *slot = (struct pidmap_slot){ pid, value, map->round };
    return OK;
}
