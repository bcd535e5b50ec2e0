/* Point-to-point traffic by destination: messages and bytes from this rank to each other rank of the world, and to
 * all other worlds together. Sparse: a rank that nothing was sent to has no metric. */
#ifndef SONDE_PROBE_MPI_PEERS_H
#define SONDE_PROBE_MPI_PEERS_H

#include "probe/mpi/call.h"

/* Finds the thread's slots of a rank: messages, followed by bytes. Cached in `place` until another rank needs it.
 * False: the rank is unknown. */
bool peers_find(struct call_peer *place, int rank);

/* Counts a message to a rank. */
CALL_INLINE void peers_add(struct mpi_call *call, int rank, uint64_t bytes)
{
    struct call_peer *peer = &call->thread->peers[(uint32_t)rank % CALL_PEERS];
    if (CALL_RARELY(peer->key != (uint64_t)(uint32_t)rank + 1)) {
        call_stop_clock(call);
        if (!peers_find(peer, rank))
            return;
    }
    uint64_t *slots = peer->slots;
    segment_add_u64(slots, 1);
    segment_add_u64(slots + 1, bytes);
}

/* Call when the size of the world is known. */
void peers_begin(int size);

#endif
