/* What MPI knows of its handles, remembered so that no call asks twice: sizes of types, who is in a communicator, ranks of the
 * world. Shared by all threads without locks: an entry says by itself whether it is whole. Forgotten when a handle is freed. */
#ifndef SONDE_PROBE_MPI_HANDLES_H
#define SONDE_PROBE_MPI_HANDLES_H

#include "probe/mpi/call.h"

/* An entry is two words, the first one mixed with the second: a reader that sees halves of two entries finds neither. */
struct handles_entry {
    uint64_t mixed, value;
};

enum { HANDLES_TYPES = 256, HANDLES_GROUPS = 64 };
extern struct handles_entry handles_types[HANDLES_TYPES], handles_groups[HANDLES_GROUPS];
extern int handles_own_rank, handles_world_size; /* of the world; CALL_NO_RANK: not known */

#ifdef OPEN_MPI
#define HANDLES_KEY(handle) ((uint64_t)(uintptr_t)(handle))
#else
#define HANDLES_KEY(handle) ((uint64_t)(uint32_t)(handle))
#endif

CALL_INLINE struct handles_entry *handles_place(struct handles_entry *table, size_t size, uint64_t key)
{
    return &table[(key * 0x9e3779b97f4a7c15u) >> 40 & (size - 1)];
}

CALL_INLINE bool handles_find(const struct handles_entry *entry, uint64_t key, uint64_t *value)
{
    uint64_t mixed = __atomic_load_n(&entry->mixed, __ATOMIC_RELAXED);
    *value = __atomic_load_n(&entry->value, __ATOMIC_RELAXED);
    return (mixed ^ *value) == key;
}

uint64_t handles_ask_size(MPI_Datatype type);

/* Bytes of count items of a type, as they travel. */
CALL_INLINE uint64_t handles_bytes(struct call *call, int64_t count, MPI_Datatype type)
{
    uint64_t size;
    if (CALL_RARELY(!handles_find(handles_place(handles_types, HANDLES_TYPES, HANDLES_KEY(type)), HANDLES_KEY(type), &size))) {
        call_stop(call);
        size = count > 0 && type != MPI_DATATYPE_NULL ? handles_ask_size(type) : 0;
    }
    return count > 0 ? (uint64_t)count * size : 0;
}

struct group_facts {
    int rank;      /* the caller's own */
    int others;    /* ranks that data goes to: those of the communicator, or of the other side of one with two */
    bool has_two_sides;
};

#define HANDLES_TWO_SIDES (1ull << 63)
uint64_t handles_ask_group(MPI_Comm comm);

CALL_INLINE struct group_facts handles_group(struct call *call, MPI_Comm comm)
{
    uint64_t value;
    if (CALL_RARELY(!handles_find(handles_place(handles_groups, HANDLES_GROUPS, HANDLES_KEY(comm)), HANDLES_KEY(comm), &value))) {
        call_stop(call);
        value = handles_ask_group(comm);
    }
    return (struct group_facts){
        .rank = (int)(value >> 32 & INT32_MAX),
        .others = (int)(value & INT32_MAX),
        .has_two_sides = (value & HANDLES_TWO_SIDES) != 0,
    };
}

/* Rank of the world of one in a communicator, or in the group of a window; CALL_NO_RANK: not in this world; CALL_UNKNOWN_RANK:
 * which world this is is not known, or not any longer. */
int handles_find_rank(MPI_Comm comm, int rank);
int handles_world_rank_of_window(MPI_Win win, int rank);

CALL_INLINE int handles_world_rank(struct call *call, MPI_Comm comm, int rank)
{
    if (comm == MPI_COMM_WORLD)
        return rank;
    if (comm == MPI_COMM_SELF)
        return handles_own_rank;
    call_stop(call);
    return handles_find_rank(comm, rank);
}

/* How many a process receives from and sends to in a neighbourhood. At the edge of a grid some of them are MPI_PROC_NULL: they
 * have places in lists of counts, but nothing comes from them. */
struct neighbours {
    int sources, destinations;
    uint64_t absent; /* bits of those at the edge, which are the same in both directions */
};
struct neighbours handles_neighbours(struct call *call, MPI_Comm comm);

void handles_forget_type(MPI_Datatype type);
void handles_forget_groups(void);

/* When MPI has begun: the world's ranks. Of a session: those of its "mpi://WORLD". When it has ended, or a session is about to:
 * handles of what was MPI's then must not be given to it again, should it begin anew. */
void handles_begin(void);
void handles_end(void);
#if MPI_VERSION >= 4
void handles_begin_session(MPI_Session session);
void handles_end_session(MPI_Session session);
#endif

#endif
