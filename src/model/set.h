/* Copies and compares metric sets. */
#ifndef SONDE_MODEL_SET_H
#define SONDE_MODEL_SET_H

#include "model/batch.h"

/* A copy with its strings in one allocation, to be freed with free(). NULL: out of memory. */
struct set *set_copy(const struct set *set);

/* Same name, and the same metrics in the same order with equal strings. */
bool set_equal(const struct set *a, const struct set *b);

/* The addresses of a set: as long as they are equal, its strings need not be compared. */
struct set_address {
    const struct set *set;
    const char *name;
    const struct metric *metrics;
    size_t size;
};

struct set_address set_address_of(const struct set *set);
bool set_address_equal(const struct set_address *address, const struct set *set);

#endif
