/* A sorted array with binary search. */
#include "base/ranges.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void ranges_clear(struct ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct ranges){ 0 };
}

enum err ranges_reserve(struct ranges *ranges)
{
    return array_reserve(ranges->list, ranges->capacity, ranges->count + 1, VEC_MAX);
}

/* The first range that does not end before the number. */
static size_t index_of(const struct ranges *ranges, uint64_t number)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->list[middle].last < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t ranges_touching(const struct ranges *ranges, struct range range, size_t *from)
{
    uint64_t before = range.first ? range.first - 1 : 0, after = range.last < UINT64_MAX ? range.last + 1 : range.last;
    size_t end = *from = index_of(ranges, before);
    while (end < ranges->count && ranges->list[end].first <= after)
        end++;
    return end - *from;
}

enum err ranges_add(struct ranges *ranges, struct range range)
{
    size_t from, count = ranges_touching(ranges, range, &from);
    if (!count && ranges_reserve(ranges))
        return NOMEM;
    struct range *at = ranges->list + from;
    if (count && at[0].first < range.first)
        range.first = at[0].first;
    if (count && at[count - 1].last > range.last)
        range.last = at[count - 1].last;
    memmove(at + 1, at + count, (ranges->count - from - count) * sizeof *at);
    ranges->count = ranges->count + 1 - count;
    *at = range;
    return OK;
}

enum err ranges_copy(struct ranges *to, const struct ranges *from)
{
    if (array_reserve(to->list, to->capacity, from->count, VEC_MAX))
        return NOMEM;
    if (from->count)
        memcpy(to->list, from->list, from->count * sizeof *from->list);
    to->count = from->count;
    return OK;
}

static bool meets(const struct ranges *ranges, struct range range)
{
    size_t at = index_of(ranges, range.first);
    return at < ranges->count && ranges->list[at].first <= range.last;
}

bool ranges_has(const struct ranges *ranges, uint64_t number)
{
    return meets(ranges, (struct range){ number, number });
}

bool ranges_meet(const struct ranges *a, const struct ranges *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (meets(b, a->list[i]))
            return true;
    return false;
}
