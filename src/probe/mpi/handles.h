/* A cache of what MPI knows about handles: sizes of datatypes, groups of communicators, world ranks. Shared by all
 * threads without locks: an entry is self-validating. Invalidated when a handle is freed. */
#ifndef SONDE_PROBE_MPI_HANDLES_H
#define SONDE_PROBE_MPI_HANDLES_H

#include "probe/mpi/call.h"

/* Two words, the first XORed with the second: a reader that sees halves of two different entries finds neither. */
struct handles_entry {
    uint64_t mixed, value;
};

enum { HANDLES_TYPES = 256, HANDLES_GROUPS = 64 };
extern struct handles_entry handles_types[HANDLES_TYPES], handles_groups[HANDLES_GROUPS];
extern int handles_own_rank, handles_world_size; /* in the world; CALL_NO_RANK: unknown */

#ifdef OPEN_MPI
#define HANDLES_KEY(handle) ((uint64_t)(uintptr_t)(handle))
#else
#define HANDLES_KEY(handle) ((uint64_t)(uint32_t)(handle))
#endif

CALL_INLINE struct handles_entry *handles_slot(struct handles_entry *table, size_t size, uint64_t key)
{
    return &table[(key * 0x9e3779b97f4a7c15u) >> 40 & (size - 1)];
}

CALL_INLINE bool handles_find(const struct handles_entry *entry, uint64_t key, uint64_t *value)
{
    uint64_t mixed = __atomic_load_n(&entry->mixed, __ATOMIC_RELAXED);
    *value = __atomic_load_n(&entry->value, __ATOMIC_RELAXED);
    return (mixed ^ *value) == key;
}

uint64_t handles_query_size(MPI_Datatype type);

/* Bytes of `count` items of a datatype. */
CALL_INLINE uint64_t handles_bytes(struct mpi_call *call, int64_t count, MPI_Datatype type)
{
    uint64_t size;
    if (CALL_RARELY(!handles_find(handles_slot(handles_types, HANDLES_TYPES, HANDLES_KEY(type)), HANDLES_KEY(type),
                                  &size))) {
        call_stop_clock(call);
        size = count > 0 && type != MPI_DATATYPE_NULL ? handles_query_size(type) : 0;
    }
    return count > 0 ? (uint64_t)count * size : 0;
}

struct comm_group {
    int rank;      /* of the calling process */
    int peers;    /* ranks that data is exchanged with: the communicator's, or the remote group's of an intercommunicator */
    bool is_intercomm;
};

#define HANDLES_INTERCOMM (1ull << 63)
uint64_t handles_query_group(MPI_Comm comm);

CALL_INLINE struct comm_group handles_group(struct mpi_call *call, MPI_Comm comm)
{
    uint64_t value;
    if (CALL_RARELY(!handles_find(handles_slot(handles_groups, HANDLES_GROUPS, HANDLES_KEY(comm)), HANDLES_KEY(comm),
                                  &value))) {
        call_stop_clock(call);
        value = handles_query_group(comm);
    }
    return (struct comm_group){
        .rank = (int)(value >> 32 & INT32_MAX),
        .peers = (int)(value & INT32_MAX),
        .is_intercomm = (value & HANDLES_INTERCOMM) != 0,
    };
}

/* The world rank of a rank in a communicator or window; CALL_NO_RANK: not in this world; CALL_UNKNOWN_RANK: the
 * world is unknown, or no longer known. */
int handles_find_rank(MPI_Comm comm, int rank);
int handles_world_rank_of_window(MPI_Win win, int rank);

CALL_INLINE int handles_world_rank(struct mpi_call *call, MPI_Comm comm, int rank)
{
    if (comm == MPI_COMM_WORLD)
        return rank;
    if (comm == MPI_COMM_SELF)
        return handles_own_rank;
    call_stop_clock(call);
    return handles_find_rank(comm, rank);
}

/* Number of neighbours that a process receives from and sends to. At the edge of a Cartesian grid some are
 * MPI_PROC_NULL: they have elements in arrays of counts, but exchange nothing. */
struct neighbours {
    int sources, destinations;
    uint64_t missing; /* bits of those at the edge, the same in both directions */
};
struct neighbours handles_neighbours(struct mpi_call *call, MPI_Comm comm);

void handles_forget_type(MPI_Datatype type);
void handles_forget_groups(void);

/* After MPI_Init: the ranks of the world. For a session: those of "mpi://WORLD". After MPI_Finalize, or before the
 * session ends: cached handles must not be passed to MPI again, should it be initialised again. */
void handles_begin(void);
void handles_end(void);
#if MPI_VERSION >= 4
void handles_begin_session(MPI_Session session);
void handles_end_session(MPI_Session session);
#endif

#endif
