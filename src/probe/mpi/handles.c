/* Queries MPI's own functions, never the wrappers, and only for handles with which a call has just succeeded. */
#include "probe/mpi/handles.h"

enum { RANKS = 1024 };
struct handles_entry handles_types[HANDLES_TYPES], handles_groups[HANDLES_GROUPS];
static struct handles_entry ranks[RANKS];

/* MPI_GROUP_NULL: MPI, or the session the group belongs to, is not initialised, or finalised */
static MPI_Group world = MPI_GROUP_NULL;
#if MPI_VERSION >= 4
static MPI_Session world_session = MPI_SESSION_NULL; /* the session of that group; MPI_SESSION_NULL: none */
#endif
int handles_own_rank = CALL_NO_RANK, handles_world_size = CALL_NO_RANK;

static void remember(struct handles_entry *entry, uint64_t key, uint64_t value)
{
    __atomic_store_n(&entry->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->mixed, key ^ value, __ATOMIC_RELAXED);
}

uint64_t handles_query_size(MPI_Datatype type)
{
    MPI_Count size = 0;
    uint64_t key = HANDLES_KEY(type);
    if (real.MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    remember(handles_slot(handles_types, HANDLES_TYPES, key), key, (uint64_t)size);
    return (uint64_t)size;
}

void handles_forget_type(MPI_Datatype type)
{
    remember(handles_slot(handles_types, HANDLES_TYPES, HANDLES_KEY(type)), 0, 0);
}

uint64_t handles_query_group(MPI_Comm comm)
{
    int rank = 0, size = 0, is_intercomm = 0;
    real.MPI_Comm_test_inter(comm, &is_intercomm);
    real.MPI_Comm_rank(comm, &rank);
    if (is_intercomm)
        real.MPI_Comm_remote_size(comm, &size);
    else
        real.MPI_Comm_size(comm, &size);
    uint64_t value = (uint64_t)(uint32_t)rank << 32 | (uint32_t)size | (is_intercomm ? HANDLES_INTERCOMM : 0);
    remember(handles_slot(handles_groups, HANDLES_GROUPS, HANDLES_KEY(comm)), HANDLES_KEY(comm), value);
    return value;
}

void handles_forget_groups(void)
{
    for (size_t i = 0; i < HANDLES_GROUPS; i++)
        remember(&handles_groups[i], 0, 0);
    for (size_t i = 0; i < RANKS; i++)
        remember(&ranks[i], 0, 0);
}

/* Frees the group. */
static int translate(MPI_Group group, int rank)
{
    int there = CALL_UNKNOWN_RANK;
    if (world != MPI_GROUP_NULL && real.MPI_Group_translate_ranks(group, 1, &rank, world, &there) != MPI_SUCCESS)
        there = CALL_UNKNOWN_RANK;
    real.MPI_Group_free(&group);
    return there == MPI_UNDEFINED ? CALL_NO_RANK : there < 0 ? CALL_UNKNOWN_RANK : there;
}

static int ask_rank(MPI_Comm comm, int rank)
{
    MPI_Group group = MPI_GROUP_NULL;
    int is_intercomm = 0;
    real.MPI_Comm_test_inter(comm, &is_intercomm);
    int code = is_intercomm ? real.MPI_Comm_remote_group(comm, &group) : real.MPI_Comm_group(comm, &group);
    return code == MPI_SUCCESS ? translate(group, rank) : CALL_UNKNOWN_RANK;
}

static int ask_rank_of_window(MPI_Win win, int rank)
{
    MPI_Group group = MPI_GROUP_NULL;
    return real.MPI_Win_get_group(win, &group) == MPI_SUCCESS ? translate(group, rank) : CALL_UNKNOWN_RANK;
}

/* The upper half holds the rank that was translated, since the key has no space for it besides the handle. */
#define RANK_VALUE(rank, there) ((uint64_t)(uint32_t)(rank) << 32 | (uint32_t)(there))

static struct handles_entry *rank_place(uint64_t key, int rank)
{
    return handles_slot(ranks, RANKS, key + (uint64_t)(uint32_t)rank * 0x100000001b3u);
}

int handles_find_rank(MPI_Comm comm, int rank)
{
    uint64_t value, key = HANDLES_KEY(comm);
    struct handles_entry *entry = rank_place(key, rank);
    if (handles_find(entry, key, &value) && value >> 32 == (uint32_t)rank)
        return (int)(uint32_t)value;
    int there = ask_rank(comm, rank);
    remember(entry, key, RANK_VALUE(rank, there));
    return there;
}

int handles_world_rank_of_window(MPI_Win win, int rank)
{
    /* inverted: MPICH's handles are integers, and those of a window and a communicator might be equal */
    uint64_t value, key = ~HANDLES_KEY(win);
    struct handles_entry *entry = rank_place(key, rank);
    if (handles_find(entry, key, &value) && value >> 32 == (uint32_t)rank)
        return (int)(uint32_t)value;
    int there = ask_rank_of_window(win, rank);
    remember(entry, key, RANK_VALUE(rank, there));
    return there;
}

static struct neighbours grid_neighbours(MPI_Comm comm)
{
    struct neighbours all = { 0 };
    int dimensions = 0, below, above;
    real.MPI_Cartdim_get(comm, &dimensions);
    for (int i = 0; i < dimensions && i < 32; i++) {
        if (real.MPI_Cart_shift(comm, i, 1, &below, &above) != MPI_SUCCESS)
            continue;
        all.missing |= (uint64_t)(below == MPI_PROC_NULL) << 2 * i | (uint64_t)(above == MPI_PROC_NULL) << (2 * i + 1);
    }
    all.sources = all.destinations = 2 * dimensions;
    return all;
}

struct neighbours handles_neighbours(struct mpi_call *call, MPI_Comm comm)
{
    struct neighbours all = { 0 };
    int kind = MPI_UNDEFINED, weighted = 0;
    real.MPI_Topo_test(comm, &kind);
    if (kind == MPI_CART)
        return grid_neighbours(comm);
    if (kind == MPI_DIST_GRAPH) {
        real.MPI_Dist_graph_neighbors_count(comm, &all.sources, &all.destinations, &weighted);
    } else if (kind == MPI_GRAPH) {
        real.MPI_Graph_neighbors_count(comm, handles_group(call, comm).rank, &all.sources);
        all.destinations = all.sources;
    }
    return all;
}

void handles_begin(void)
{
#if MPI_VERSION >= 4
    world_session = MPI_SESSION_NULL;
#endif
    real.MPI_Comm_group(MPI_COMM_WORLD, &world);
    real.MPI_Comm_rank(MPI_COMM_WORLD, &handles_own_rank);
    real.MPI_Comm_size(MPI_COMM_WORLD, &handles_world_size);
}

void handles_end(void)
{
    world = MPI_GROUP_NULL;
    handles_forget_groups();
}

#if MPI_VERSION >= 4
void handles_begin_session(MPI_Session session)
{
    MPI_Group group = MPI_GROUP_NULL;
    if (world != MPI_GROUP_NULL || real.MPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS)
        return;
    world = group;
    world_session = session;
    handles_forget_groups();
    real.MPI_Group_rank(world, &handles_own_rank);
    real.MPI_Group_size(world, &handles_world_size);
}

void handles_end_session(MPI_Session session)
{
    if (world == MPI_GROUP_NULL || session == MPI_SESSION_NULL || session != world_session)
        return;
    real.MPI_Group_free(&world);
    world_session = MPI_SESSION_NULL;
    handles_end();
}
#endif
