/* A sum over processes that come and go, made into a counter that never falls.
 *
 * What a process used moves, when it is waited for, from itself to its parent, and a sum taken while that happens lacks
 * it for one reading. When it is missing at the next reading too, nobody waited for it (SIGCHLD ignored): the kernel
 * forgot it, and we remember it. */
#ifndef SONDE_PROC_MONOTONIC_SUM_H
#define SONDE_PROC_MONOTONIC_SUM_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing yet. */
struct monotonic_sum {
    uint64_t reported;     /* the value that was given last */
    uint64_t lost; /* what the kernel forgot, added to each sum */
    uint64_t low_value;
    bool has_dropped;
};

/* The counter's value for this sum. tolerance: by how much sums may err without anything being forgotten. */
uint64_t monotonic_sum_update(struct monotonic_sum *sum, uint64_t value, uint64_t tolerance);

#endif
