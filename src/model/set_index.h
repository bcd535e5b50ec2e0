/* Numbers for sets: equal ones, wherever they are kept, have the same number, from 0 in the order in which they came. For
 * whoever puts the entries of a view, which come in any order, in the order of their sets. */
#ifndef SONDE_MODEL_SET_INDEX_H
#define SONDE_MODEL_SET_INDEX_H

#include "model/batch.h"

struct set_index {
    const struct set **sets; /* count of them, borrowed: the first that came of those that are equal */
    size_t count, capacity;
    struct set_index_slot *slots; /* by address; a power of two of them */
    size_t slot_count, slot_used;
    size_t last;                  /* where something was found last: neighbours are often alike */
};

void set_index_init(struct set_index *index);
void set_index_clear(struct set_index *index);

/* NOMEM. */
enum err set_index_of(struct set_index *index, const struct set *set, size_t *number);

#endif
