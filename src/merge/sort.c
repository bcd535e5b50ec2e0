/* Bottom-up merge sort with insertion sort for short runs. */
#include "merge/sort.h"

#include <stdbool.h>
#include <string.h>

#define RUN 16u

struct items {
    const char *first;
    size_t size;
};

static uint64_t time_of(const struct items *items, uint32_t i)
{
    return *(const uint64_t *)(const void *)(items->first + i * items->size);
}

static void insert(const struct items *items, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t moving = order[i], at = i;
        uint64_t time_ns = time_of(items, moving);
        for (; at > 0 && time_of(items, order[at - 1]) > time_ns; at--)
            order[at] = order[at - 1];
        order[at] = moving;
    }
}

static bool is_sorted(const struct items *items, const uint32_t *order, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (time_of(items, order[i - 1]) > time_of(items, order[i]))
            return false;
    return true;
}

static void merge(const struct items *items, const uint32_t *from, uint32_t *to, uint32_t middle, uint32_t end)
{
    uint32_t left = 0, right = middle;
    for (uint32_t i = 0; i < end; i++) {
        bool take_left = right >= end
                         || (left < middle && time_of(items, from[left]) <= time_of(items, from[right]));
        to[i] = from[take_left ? left++ : right++];
    }
}

void sort_by_time(const void *first, size_t size, uint32_t *order, uint32_t *spare, uint32_t count)
{
    struct items items = { first, size };
    if (is_sorted(&items, order, count))
        return;
    for (uint32_t at = 0; at < count; at += RUN)
        insert(&items, order + at, count - at < RUN ? count - at : RUN);
    for (uint64_t width = RUN; width < count; width *= 2) {
        for (uint64_t at = 0; at < count; at += 2 * width) {
            uint64_t end = count - at < 2 * width ? count - at : 2 * width;
            merge(&items, order + at, spare + at, (uint32_t)(width < end ? width : end), (uint32_t)end);
        }
        memcpy(order, spare, count * sizeof *order);
    }
}
