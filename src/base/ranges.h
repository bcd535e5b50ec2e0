/* A set of numbers, kept as the ranges that they form: what of a stream has come, which is one range as long as nothing is
 * missing in between. */
#ifndef SONDE_BASE_RANGES_H
#define SONDE_BASE_RANGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t first, last; /* both are in it */
};

/* In order; no two of them overlap or touch. All 0: empty. */
struct ranges {
    struct range *list;
    size_t count, capacity;
};

void ranges_clear(struct ranges *ranges);

/* After this the next ranges_add does not fail. */
enum err ranges_reserve(struct ranges *ranges);
enum err ranges_add(struct ranges *ranges, struct range range);
enum err ranges_copy(struct ranges *to, const struct ranges *from); /* to: what it held is forgotten */

bool ranges_has(const struct ranges *ranges, uint64_t number);
bool ranges_meet(const struct ranges *a, const struct ranges *b); /* a number is in both */

/* How many ranges would become one with this one, since they overlap or touch it; *from: the first of them. */
size_t ranges_touching(const struct ranges *ranges, struct range range, size_t *from);

#endif
