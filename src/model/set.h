/* Sets as values: copied, compared, and known again by their address. */
#ifndef SONDE_MODEL_SET_H
#define SONDE_MODEL_SET_H

#include "model/batch.h"

/* A copy with its texts in one allocation: free() frees it. NULL: memory ran out. */
struct set *set_copy(const struct set *set);

/* Same name, same metrics in the same order, all their texts the same. */
bool set_equal(const struct set *a, const struct set *b);

/* Where a set was met: as long as nothing moves, a comparison of addresses does for one of texts. */
struct set_address {
    const struct set *set;
    const char *name;
    const struct metric *metrics;
    size_t size;
};

struct set_address set_address_of(const struct set *set);
bool set_address_equal(const struct set_address *address, const struct set *set);

#endif
