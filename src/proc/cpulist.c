/* Range lists. The ranges are ascending and do not overlap, as the kernel prints them. */
#include "proc/cpulist.h"

#include "base/scan.h"

#include <stddef.h>

struct cpu_range {
    uint64_t first, last;
};

enum range_result { STEP_RANGE, STEP_END, STEP_BAD };

static enum range_result next_range(const char **at, struct cpu_range *range)
{
    if (**at == '\0' || **at == '\n')
        return STEP_END;
    if (!scan_u64(at, &range->first))
        return STEP_BAD;
    range->last = range->first;
    if (**at == '-') {
        ++*at;
        if (!scan_u64(at, &range->last))
            return STEP_BAD;
    }
    if (**at == ',')
        ++*at;
    else if (**at != '\0' && **at != '\n')
        return STEP_BAD;
    return range->last >= range->first && range->last < UINT32_MAX ? STEP_RANGE : STEP_BAD;
}

static uint64_t overlap(struct cpu_range a, struct cpu_range b)
{
    uint64_t first = a.first > b.first ? a.first : b.first, last = a.last < b.last ? a.last : b.last;
    return first <= last ? last - first + 1 : 0;
}

/* Counts the CPUs of range that are in list. False: the list does not parse. */
static int count_in(struct cpu_range range, const char *list, uint64_t *count)
{
    struct cpu_range other;
    enum range_result step;
    while ((step = next_range(&list, &other)) == STEP_RANGE)
        *count += overlap(range, other);
    return step == STEP_END;
}

uint64_t cpulist_count(const char *list, const char *also)
{
    struct cpu_range range;
    uint64_t count = 0;
    enum range_result step;
    while ((step = next_range(&list, &range)) == STEP_RANGE) {
        if (!also)
            count += range.last - range.first + 1;
        else if (!count_in(range, also, &count))
            return 0;
    }
    return step == STEP_END ? count : 0;
}

size_t cpulist_flags(const char *list, bool *flags, size_t size)
{
    struct cpu_range range;
    size_t end = 0;
    enum range_result step;
    for (size_t i = 0; i < size; i++)
        flags[i] = false;
    while ((step = next_range(&list, &range)) == STEP_RANGE && range.last < size) {
        for (uint64_t cpu = range.first; cpu <= range.last; cpu++)
            flags[cpu] = true;
        end = end > range.last ? end : (size_t)range.last + 1;
    }
    return step == STEP_END ? end : 0;
}
