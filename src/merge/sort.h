/* Puts the numbers of things into the order of the things' times. */
#ifndef SONDE_MERGE_SORT_H
#define SONDE_MERGE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* items: an array of structs of this size that begin with a uint64_t, by which order is sorted. Stable: what stood first
 * stays first when the times are equal. spare has room for count. Records are written nearly in order, which costs one
 * look at each; the worst case is n log n. */
void sort_by_time(const void *items, size_t size, uint32_t *order, uint32_t *spare, uint32_t count);

#endif
