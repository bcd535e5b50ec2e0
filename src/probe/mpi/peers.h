/* Who sent how much to whom: messages and bytes from this rank to each other one of the world, one to one. Sparse: a rank to
 * which nothing was sent has no metric. */
#ifndef SONDE_PROBE_MPI_PEERS_H
#define SONDE_PROBE_MPI_PEERS_H

#include "probe/mpi/call.h"

extern uint32_t *peers; /* metrics of the messages, those of the bytes stand behind them; BOARD_NONE: not made yet, or no room */
extern int peer_count;

/* The metric of a rank that has none yet. */
uint32_t peers_make(int rank);

/* A message to a rank. */
CALL_INLINE void peers_add(int rank, uint64_t bytes)
{
    if ((unsigned)rank >= (unsigned)peer_count)
        return;
    uint32_t metric = __atomic_load_n(&peers[rank], __ATOMIC_RELAXED);
    if (__builtin_expect(metric == BOARD_NONE, 0))
        metric = peers_make(rank);
    uint64_t *slots = board_slots(&call_board, metric);
    board_add_u64(slots, 1);
    board_add_u64(slots + 1, bytes);
}

/* When the size of the world is known. */
void peers_begin(int size);

#endif
