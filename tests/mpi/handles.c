/* Handles that are freed and reused by MPI, ranks with different numbers in a communicator or window and in the
 * world, and two groups of one rank and three. Four ranks; an item is an int. */
#include "expect.h"

enum { RANKS = 4, ITEM = sizeof(int), ROUNDS = 30 };

static int out[256], in[256];
static unsigned long long exchanged, gathered_out, gathered_in, messages[RANKS], bytes[RANKS];

static void sends(int to, unsigned long long size)
{
    messages[to]++;
    bytes[to] += size;
}

/* Around a communicator; returns its size. */
static int go_round(MPI_Comm comm, int count, MPI_Datatype type, unsigned long long size)
{
    int own, ranks, to;
    MPI_Group here, world;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &ranks);
    int next = (own + 1) % ranks, before = (own + ranks - 1) % ranks;
    MPI_Comm_group(comm, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(here, 1, &next, world, &to);
    MPI_Group_free(&here);
    MPI_Group_free(&world);
    MPI_Sendrecv(out, count, type, next, 1, in, count, type, before, 1, comm, MPI_STATUS_IGNORE);
    sends(to, size);
    exchanged += size;
    return ranks;
}

/* The next communicator, and the next type, often have the handle of the previous one. */
static void again_and_again(void)
{
    for (int i = 1; i <= ROUNDS; i++) {
        MPI_Comm part, copy;
        MPI_Datatype type;
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? (rank + i) % 2 : 0, i % 2 ? -rank : rank, &part);
        MPI_Type_contiguous(i, MPI_INT, &type);
        MPI_Type_commit(&type);
        int ranks = go_round(part, 1, type, (unsigned long long)i * ITEM);
        MPI_Comm_dup(part, &copy);
        MPI_Comm_free(&part);
        MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, copy);
        gathered_out += ITEM;
        gathered_in += (unsigned long long)ranks * ITEM;
        MPI_Type_free(&type);
        go_round(copy, i, MPI_INT, (unsigned long long)i * ITEM);
        MPI_Comm_free(&copy);
    }
}

/* Of ranks 0 and 2, then of 1 and 3, the greater one first at first. One after the other: two windows of OpenMPI 4
 * in two such communicators use the same memory. */
static void into_windows(void)
{
    for (int i = 0; i < 4; i++) {
        MPI_Comm pair;
        MPI_Win window;
        int *memory, own;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == i % 2 ? 0 : MPI_UNDEFINED, i / 2 ? rank : -rank, &pair);
        if (pair == MPI_COMM_NULL)
            continue;
        MPI_Comm_rank(pair, &own);
        MPI_Win_allocate(16 * ITEM, ITEM, MPI_INFO_NULL, pair, &memory, &window);
        MPI_Win_fence(0, window);
        MPI_Put(out, 3, MPI_INT, 1 - own, 0, 3, MPI_INT, window);
        sends((rank + 2) % RANKS, 3 * ITEM);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);
        MPI_Comm_free(&pair);
    }
    expect("sent_bytes", "MPI_Put", 2 * 3 * ITEM);
}

/* Rank 0 alone in one group; the root is the second of the others, rank 2. */
static void between_one_and_three(void)
{
    MPI_Comm side, bridge;
    int is_one = rank == 0, place = rank - 1, counts[] = { 1, 2, 3 }, sum = 6, at[] = { 0, 10, 20 };
    MPI_Comm_split(MPI_COMM_WORLD, is_one, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, is_one ? 1 : 0, 7, &bridge);
    int root = is_one ? 1 : place == 1 ? MPI_ROOT : MPI_PROC_NULL, other = is_one ? MPI_ROOT : 0;
    MPI_Reduce(out, in, 5, MPI_INT, MPI_SUM, root, bridge);
    expect_bytes("MPI_Reduce", is_one ? 5 * ITEM : 0, root == MPI_ROOT ? 5 * ITEM : 0);
    MPI_Gatherv(out, is_one ? 0 : counts[place], MPI_INT, in, counts, at, MPI_INT, other, bridge);
    expect_bytes("MPI_Gatherv", is_one ? 0 : counts[place] * ITEM, is_one ? 6 * ITEM : 0);
    MPI_Scatterv(out, counts, at, MPI_INT, in, is_one ? 0 : counts[place], MPI_INT, other, bridge);
    expect_bytes("MPI_Scatterv", is_one ? 6 * ITEM : 0, is_one ? 0 : counts[place] * ITEM);
    MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, bridge);
    expect_bytes("MPI_Alltoall", (is_one ? 3 : 1) * 2 * ITEM, (is_one ? 3 : 1) * 2 * ITEM);
    MPI_Reduce_scatter(out, in, is_one ? &sum : counts, MPI_INT, MPI_SUM, bridge);
    expect_bytes("MPI_Reduce_scatter", 6 * ITEM, (is_one ? 6 : counts[place]) * ITEM);
    MPI_Reduce_scatter_block(out, in, is_one ? 6 : 2, MPI_INT, MPI_SUM, bridge);
    expect_bytes("MPI_Reduce_scatter_block", 6 * ITEM, (is_one ? 6 : 2) * ITEM);
    MPI_Comm_free(&bridge);
    MPI_Comm_free(&side);
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    require(size == RANKS, "four ranks");
    again_and_again();
    into_windows();
    between_one_and_three();
    expect_bytes("MPI_Sendrecv", exchanged, exchanged);
    expect_bytes("MPI_Allgather", gathered_out, gathered_in);
    for (int i = 0; i < RANKS; i++)
        if (messages[i])
            expect_peer(i, messages[i], bytes[i]);
    return expect_end();
}
