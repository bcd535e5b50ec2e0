/* Sorts indices by the times of the items that they refer to. */
#ifndef SONDE_MERGE_SORT_H
#define SONDE_MERGE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* items: array of structs of this size whose first member is a uint64_t, the sort key. The sort is stable. spare must
 * have capacity for count. Records are written nearly in order: sorted input costs one pass, the worst case is n log n. */
void sort_by_time(const void *items, size_t size, uint32_t *order, uint32_t *spare, uint32_t count);

#endif
