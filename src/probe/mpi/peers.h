/* Who sent how much to whom: messages and bytes from this rank to each other one of the world, and to all of other worlds
 * together, one to one. Sparse: a rank to which nothing was sent has no metric. */
#ifndef SONDE_PROBE_MPI_PEERS_H
#define SONDE_PROBE_MPI_PEERS_H

#include "probe/mpi/call.h"

/* Finds the thread's slots of a rank: messages, behind them bytes. They stay in the place until another rank needs it.
 * False: which rank it is is not known. */
bool peers_find(struct call_peer *place, int rank);

/* A message to a rank. */
CALL_INLINE void peers_add(struct call *call, int rank, uint64_t bytes)
{
    struct call_peer *peer = &call->mine->peers[(uint32_t)rank % CALL_PEERS];
    if (CALL_RARELY(peer->key != (uint64_t)(uint32_t)rank + 1)) {
        call_stop(call);
        if (!peers_find(peer, rank))
            return;
    }
    uint64_t *slots = peer->slots;
    board_add_u64(slots, 1);
    board_add_u64(slots + 1, bytes);
}

/* When the size of the world is known. */
void peers_begin(int size);

#endif
