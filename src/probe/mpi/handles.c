/* Asks MPI itself, never its wrappers, and only of handles with which a call has just succeeded. */
#include "probe/mpi/handles.h"

/* An entry is two words, the first one mixed with the second: a reader that sees halves of two entries finds neither. */
struct entry {
    uint64_t mixed, value;
};

enum { TYPES = 256, GROUPS = 64, RANKS = 1024 };
static struct entry types[TYPES], groups[GROUPS], ranks[RANKS];

static MPI_Group world = MPI_GROUP_NULL;
static int own_rank = CALL_NO_RANK, world_size = CALL_NO_RANK;

#ifdef OPEN_MPI
#define KEY(handle) ((uint64_t)(uintptr_t)(handle))
#else
#define KEY(handle) ((uint64_t)(uint32_t)(handle))
#endif

static struct entry *place(struct entry *table, size_t size, uint64_t key)
{
    return &table[(key * 0x9e3779b97f4a7c15u) >> 40 & (size - 1)];
}

static bool find(const struct entry *entry, uint64_t key, uint64_t *value)
{
    uint64_t mixed = __atomic_load_n(&entry->mixed, __ATOMIC_RELAXED);
    *value = __atomic_load_n(&entry->value, __ATOMIC_RELAXED);
    return (mixed ^ *value) == key;
}

static void remember(struct entry *entry, uint64_t key, uint64_t value)
{
    __atomic_store_n(&entry->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->mixed, key ^ value, __ATOMIC_RELAXED);
}

static uint64_t ask_size(MPI_Datatype type)
{
    MPI_Count size = 0;
    uint64_t key = KEY(type);
    if (real.MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    remember(place(types, TYPES, key), key, (uint64_t)size);
    return (uint64_t)size;
}

uint64_t handles_bytes(int64_t count, MPI_Datatype type)
{
    uint64_t size;
    if (count <= 0 || type == MPI_DATATYPE_NULL)
        return 0;
    if (!find(place(types, TYPES, KEY(type)), KEY(type), &size))
        size = ask_size(type);
    return (uint64_t)count * size;
}

void handles_forget_type(MPI_Datatype type)
{
    remember(place(types, TYPES, KEY(type)), 0, 0);
}

#define TWO_SIDES (1ull << 63)

static uint64_t ask_group(MPI_Comm comm)
{
    int rank = 0, size = 0, two_sides = 0;
    real.MPI_Comm_test_inter(comm, &two_sides);
    real.MPI_Comm_rank(comm, &rank);
    if (two_sides)
        real.MPI_Comm_remote_size(comm, &size);
    else
        real.MPI_Comm_size(comm, &size);
    uint64_t value = (uint64_t)(uint32_t)rank << 32 | (uint32_t)size | (two_sides ? TWO_SIDES : 0);
    remember(place(groups, GROUPS, KEY(comm)), KEY(comm), value);
    return value;
}

struct group_facts handles_group(MPI_Comm comm)
{
    uint64_t value;
    if (!find(place(groups, GROUPS, KEY(comm)), KEY(comm), &value))
        value = ask_group(comm);
    return (struct group_facts){
        .rank = (int)(value >> 32 & INT32_MAX),
        .others = (int)(value & INT32_MAX),
        .has_two_sides = (value & TWO_SIDES) != 0,
    };
}

void handles_forget_groups(void)
{
    for (size_t i = 0; i < GROUPS; i++)
        remember(&groups[i], 0, 0);
    for (size_t i = 0; i < RANKS; i++)
        remember(&ranks[i], 0, 0);
}

/* Frees the group. */
static int translate(MPI_Group group, int rank)
{
    int there = MPI_UNDEFINED;
    if (world != MPI_GROUP_NULL)
        real.MPI_Group_translate_ranks(group, 1, &rank, world, &there);
    real.MPI_Group_free(&group);
    return there == MPI_UNDEFINED || there < 0 ? CALL_NO_RANK : there;
}

static int ask_rank(MPI_Comm comm, int rank)
{
    MPI_Group group = MPI_GROUP_NULL;
    int code = handles_group(comm).has_two_sides ? real.MPI_Comm_remote_group(comm, &group) : real.MPI_Comm_group(comm, &group);
    return code == MPI_SUCCESS ? translate(group, rank) : CALL_NO_RANK;
}

static int ask_rank_of_window(MPI_Win win, int rank)
{
    MPI_Group group = MPI_GROUP_NULL;
    return real.MPI_Win_get_group(win, &group) == MPI_SUCCESS ? translate(group, rank) : CALL_NO_RANK;
}

/* The value has the rank asked for in its upper half, since the key of a handle alone takes all of a word. */
#define RANK_VALUE(rank, there) ((uint64_t)(uint32_t)(rank) << 32 | (uint32_t)(there))

static struct entry *rank_place(uint64_t key, int rank)
{
    return place(ranks, RANKS, key + (uint64_t)(uint32_t)rank * 0x100000001b3u);
}

int handles_world_rank(MPI_Comm comm, int rank)
{
    uint64_t value, key = KEY(comm);
    if (comm == MPI_COMM_WORLD)
        return rank;
    struct entry *entry = rank_place(key, rank);
    if (find(entry, key, &value) && value >> 32 == (uint32_t)rank)
        return (int)(uint32_t)value;
    int there = ask_rank(comm, rank);
    remember(entry, key, RANK_VALUE(rank, there));
    return there;
}

int handles_world_rank_of_window(MPI_Win win, int rank)
{
    uint64_t value, key = ~KEY(win); /* MPICH's handles of a window and of a communicator are numbers, which might meet */
    struct entry *entry = rank_place(key, rank);
    if (find(entry, key, &value) && value >> 32 == (uint32_t)rank)
        return (int)(uint32_t)value;
    int there = ask_rank_of_window(win, rank);
    remember(entry, key, RANK_VALUE(rank, there));
    return there;
}

void handles_neighbours(MPI_Comm comm, int *sources, int *destinations)
{
    int kind = MPI_UNDEFINED, weighted = 0;
    *sources = *destinations = 0;
    real.MPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        real.MPI_Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
    } else if (kind == MPI_GRAPH) {
        real.MPI_Graph_neighbors_count(comm, handles_group(comm).rank, sources);
        *destinations = *sources;
    } else if (kind == MPI_CART) {
        real.MPI_Cartdim_get(comm, sources);
        *destinations = *sources *= 2;
    }
}

void handles_begin(void)
{
    real.MPI_Comm_group(MPI_COMM_WORLD, &world);
    real.MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    real.MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

#if MPI_VERSION >= 4
void handles_begin_session(MPI_Session session)
{
    MPI_Group group = MPI_GROUP_NULL;
    if (world != MPI_GROUP_NULL || real.MPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS)
        return;
    world = group;
    real.MPI_Group_rank(world, &own_rank);
    real.MPI_Group_size(world, &world_size);
}
#endif

int handles_own_rank(void)
{
    return own_rank;
}

int handles_world_size(void)
{
    return world_size;
}
