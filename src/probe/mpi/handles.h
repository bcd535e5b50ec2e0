/* What MPI knows of its handles, remembered so that no call asks twice: sizes of types, who is in a communicator, ranks of the
 * world. Shared by all threads without locks: an entry says by itself whether it is whole. Forgotten when a handle is freed. */
#ifndef SONDE_PROBE_MPI_HANDLES_H
#define SONDE_PROBE_MPI_HANDLES_H

#include "probe/mpi/call.h"

struct group_facts {
    int rank;      /* the caller's own */
    int others;    /* ranks that data goes to: those of the communicator, or of the other side of one with two */
    bool has_two_sides;
};

/* Bytes of count items of a type, as they travel. */
uint64_t handles_bytes(int64_t count, MPI_Datatype type);

struct group_facts handles_group(MPI_Comm comm);

/* Rank of the world of one in a communicator, or in the group of a window; CALL_NO_RANK: not in this world. */
int handles_world_rank(MPI_Comm comm, int rank);
int handles_world_rank_of_window(MPI_Win win, int rank);

/* How many a process receives from and sends to in a neighbourhood. */
void handles_neighbours(MPI_Comm comm, int *sources, int *destinations);

void handles_forget_type(MPI_Datatype type);
void handles_forget_groups(void);

/* When MPI has begun: the world's ranks. Of a session: those of its "mpi://WORLD". */
void handles_begin(void);
#if MPI_VERSION >= 4
void handles_begin_session(MPI_Session session);
#endif

/* The caller's rank in the world and its size; CALL_NO_RANK: not known. */
int handles_own_rank(void);
int handles_world_size(void);

#endif
