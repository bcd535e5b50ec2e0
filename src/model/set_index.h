/* Numbers for sets: equal sets get the same number, from 0 in the order of first appearance. Used to group the entries of a
 * view by set. */
#ifndef SONDE_MODEL_SET_INDEX_H
#define SONDE_MODEL_SET_INDEX_H

#include "model/batch.h"

struct set_index {
    const struct set **sets; /* borrowed; the first of equal ones */
    size_t count, capacity;
    struct set_index_slot *slots; /* by address; a power of two */
    size_t slot_count, slot_used;
    size_t last;                  /* the number returned last: neighbours are often equal */
};

void set_index_init(struct set_index *index);
void set_index_clear(struct set_index *index);

/* NOMEM. */
enum err set_index_of(struct set_index *index, const struct set *set, size_t *number);

#endif
