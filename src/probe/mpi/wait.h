/* How much of a call was waiting for others. Nobody tells, so it is inferred: what a call took longer than it needed, where
 * "needed" is the least that a call of this function with about as many bytes and ranks has taken so far in this process,
 * but never more than a generous network needs (20 us for each doubling of the ranks, and 10 ns for each byte). So a rank
 * that always waits does not take its waiting for the price of the call, and one that comes last waits for nobody. */
#ifndef SONDE_PROBE_MPI_WAIT_H
#define SONDE_PROBE_MPI_WAIT_H

#include <stdint.h>

enum { WAIT_SIZES = 32, WAIT_RANKS = 16 };

/* The least ticks, less one, by the logarithm of ranks and of bytes; 0: none yet. */
struct function_waits {
    uint32_t least[WAIT_RANKS][WAIT_SIZES];
};
extern struct function_waits function_waits[];

/* Ticks of a call that were waiting. */
uint64_t wait_ticks(uint32_t function, uint64_t ticks, uint64_t bytes, uint32_t ranks);

/* How long a tick is; known when some time has passed since the board was made, as MPI_Init takes. */
void wait_learn(void);

#endif
