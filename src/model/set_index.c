/* A hash table of addresses, because the same few sets come again and again; a new address is compared by content. The
 * addresses are our own, so that no keyed hash (base/map.h) is needed. */
#include "model/set_index.h"

#include "base/vec.h"
#include "model/set.h"

#include <stdlib.h>

struct set_index_slot {
    const struct set *set; /* NULL: free */
    size_t number;
};

void set_index_init(struct set_index *index)
{
    *index = (struct set_index){ 0 };
}

void set_index_clear(struct set_index *index)
{
    free(index->sets);
    free(index->slots);
    *index = (struct set_index){ 0 };
}

static size_t slot_of(const struct set_index *index, const struct set *set)
{
    size_t mask = index->slot_count - 1;
    size_t at = (size_t)(((uintptr_t)set >> 4) * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (index->slots[at].set && index->slots[at].set != set)
        at = (at + 1) & mask;
    return at;
}

static enum err grow_slots(struct set_index *index)
{
    if (index->slot_used * 2 < index->slot_count)
        return OK;
    struct set_index old = *index;
    index->slot_count = old.slot_count ? old.slot_count * 2 : 64;
    index->slots = calloc(index->slot_count, sizeof *index->slots);
    if (!index->slots) {
        *index = old;
        return NOMEM;
    }
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].set)
            index->slots[slot_of(index, old.slots[i].set)] = old.slots[i];
    free(old.slots);
    return OK;
}

static enum err find_equal(struct set_index *index, const struct set *set, size_t *number)
{
    for (size_t i = 0; i < index->count; i++)
        if (set_equal(index->sets[i], set)) {
            *number = i;
            return OK;
        }
    if (array_reserve(index->sets, index->capacity, index->count + 1, VEC_MAX))
        return NOMEM;
    *number = index->count;
    index->sets[index->count++] = set;
    return OK;
}

enum err set_index_of(struct set_index *index, const struct set *set, size_t *number)
{
    if (index->count && index->sets[index->last] == set) {
        *number = index->last;
        return OK;
    }
    enum err err = grow_slots(index);
    if (err)
        return err;
    struct set_index_slot *slot = &index->slots[slot_of(index, set)];
    if (!slot->set) {
        err = find_equal(index, set, number);
        if (err)
            return err;
        *slot = (struct set_index_slot){ set, *number };
        index->slot_used++;
    }
    *number = index->last = slot->number;
    return OK;
}
