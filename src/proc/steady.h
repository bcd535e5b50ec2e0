/* A sum over processes that come and go, made into a counter that never falls.
 *
 * What a process used moves, when it is waited for, from itself to its parent, and a sum taken while that happens lacks
 * it for one reading. When it is missing at the next reading too, nobody waited for it (SIGCHLD ignored): the kernel
 * forgot it, and we remember it. */
#ifndef SONDE_PROC_STEADY_H
#define SONDE_PROC_STEADY_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing yet. */
struct steady {
    uint64_t shown;     /* the value that was given last */
    uint64_t forgotten; /* what the kernel forgot, added to each sum */
    uint64_t fell_to;
    bool has_fallen;
};

/* The counter's value for this sum. tolerance: by how much sums may err without anything being forgotten. */
uint64_t steady_update(struct steady *steady, uint64_t sum, uint64_t tolerance);

#endif
