/* Copies of sets that outlive their samplers, for live.c. */
#ifndef SONDE_MODEL_LIVE_SET_H
#define SONDE_MODEL_LIVE_SET_H

#include "model/batch.h"

/* Where a set was met: as long as nothing moves, a comparison of addresses does for one of texts. */
struct live_address {
    const struct set *set;
    const char *name;
    const struct metric *metrics;
    size_t size;
};

struct live_address live_address_of(const struct set *set);
bool live_address_equal(const struct live_address *address, const struct set *set);

/* With its texts, in one allocation. NULL: memory ran out. */
struct set *live_set_copy(const struct set *set);
void live_set_free(struct set **set);

/* Same name, same metrics in the same order. */
bool live_set_equal(const struct set *a, const struct set *b);

#endif
