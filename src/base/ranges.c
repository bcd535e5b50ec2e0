/* A list in order, searched by halves. */
#include "base/ranges.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 2

void ranges_clear(struct ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct ranges){ 0 };
}

static enum err grow_to(struct ranges *ranges, size_t count)
{
    if (count <= ranges->room)
        return OK;
    size_t room = ranges->room * 2 > count ? ranges->room * 2 : count > ROOM_MIN ? count : ROOM_MIN;
    struct range *list = realloc(ranges->list, room * sizeof *list);
    if (!list)
        return NOMEM;
    ranges->list = list;
    ranges->room = room;
    return OK;
}

enum err ranges_make_room(struct ranges *ranges)
{
    return grow_to(ranges, ranges->count + 1);
}

/* The first range that does not end before the number. */
static size_t place_of(const struct ranges *ranges, uint64_t number)
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
    uint64_t before = range.first ? range.first - 1 : 0, behind = range.last < UINT64_MAX ? range.last + 1 : range.last;
    size_t end = *from = place_of(ranges, before);
    while (end < ranges->count && ranges->list[end].first <= behind)
        end++;
    return end - *from;
}

enum err ranges_add(struct ranges *ranges, struct range range)
{
    size_t from, count = ranges_touching(ranges, range, &from);
    if (!count && ranges_make_room(ranges))
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
    if (grow_to(to, from->count))
        return NOMEM;
    if (from->count)
        memcpy(to->list, from->list, from->count * sizeof *from->list);
    to->count = from->count;
    return OK;
}

static bool meets(const struct ranges *ranges, struct range range)
{
    size_t at = place_of(ranges, range.first);
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
