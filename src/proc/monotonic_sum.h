/* Turns a sum over processes that come and go into a counter that never decreases.
 *
 * When a process is waited for, the kernel moves its usage to its parent, and a sum taken meanwhile misses it in one
 * reading. If it is still missing in the next reading, nobody waited for the process (SIGCHLD ignored) and the kernel
 * has dropped its usage: then it is added from here on. */
#ifndef SONDE_PROC_MONOTONIC_SUM_H
#define SONDE_PROC_MONOTONIC_SUM_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: empty. */
struct monotonic_sum {
    uint64_t reported;     /* the last value returned */
    uint64_t lost; /* usage that the kernel dropped, added to each sum */
    uint64_t low_value;
    bool has_dropped;
};

/* Returns the counter for this sum. tolerance: decreases up to this are rounding errors. */
uint64_t monotonic_sum_update(struct monotonic_sum *sum, uint64_t value, uint64_t tolerance);

#endif
