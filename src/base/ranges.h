/* A set of numbers, stored as ranges: which records of a stream have been received. That is a single range unless some are
 * missing. */
#ifndef SONDE_BASE_RANGES_H
#define SONDE_BASE_RANGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t first, last; /* inclusive */
};

/* Sorted; ranges neither overlap nor touch. Zeros: empty. */
struct ranges {
    struct range *list;
    size_t count, capacity;
};

void ranges_clear(struct ranges *ranges);

/* Ensures that the next ranges_add succeeds. */
enum err ranges_reserve(struct ranges *ranges);
enum err ranges_add(struct ranges *ranges, struct range range);
enum err ranges_copy(struct ranges *to, const struct ranges *from); /* replaces the content of to */

bool ranges_has(const struct ranges *ranges, uint64_t number);
bool ranges_meet(const struct ranges *a, const struct ranges *b); /* some number is in both */

/* How many ranges overlap or touch this one and would be merged with it; *from: index of the first. */
size_t ranges_touching(const struct ranges *ranges, struct range range, size_t *from);

#endif
