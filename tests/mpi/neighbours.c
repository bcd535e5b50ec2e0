/* An intercommunicator, a grid with edges, and a graph of neighbours. Four ranks. */
#include "expect.h"

enum { RANKS = 4, ITEM = sizeof(int) };

/* Two groups of two ranks each; rank 0 of the first group is the root. */
static void across(void)
{
    MPI_Comm half, bridge;
    int side = rank % 2, value = rank, got[2] = { -1, -1 };
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &bridge);
    int is_root = rank == 0, root = side ? 0 : is_root ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&value, 1, MPI_INT, root, bridge);
    expect_bytes("MPI_Bcast", is_root ? ITEM : 0, side ? ITEM : 0);
    MPI_Gather(&rank, side ? 1 : 0, MPI_INT, got, 1, MPI_INT, root, bridge);
    require(!is_root || (got[0] == 1 && got[1] == 3), "gathered from the other side");
    expect_bytes("MPI_Gather", side ? ITEM : 0, is_root ? 2 * ITEM : 0);
    MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, bridge);
    require(got[0] == 1 - side && got[1] == 3 - side, "allgathered from the other side");
    expect_bytes("MPI_Allgather", ITEM, 2 * ITEM);
    /* To the same rank of the remote group, which has another world rank. */
    int place = rank / 2, other = 2 * place + 1 - side;
    MPI_Sendrecv(&rank, 1, MPI_INT, place, 0, got, 1, MPI_INT, place, 0, bridge, MPI_STATUS_IGNORE);
    require(got[0] == other, "the other side");
    expect_peer(other, 1, ITEM);
    MPI_Comm_free(&bridge);
    MPI_Comm_free(&half);
}

static void on_a_grid(void)
{
    int dimensions[1] = { RANKS }, periods[1] = { 0 }, got[2] = { -1, -1 }, send[2] = { rank, rank };
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &grid);
    int there = (rank > 0) + (rank < RANKS - 1);
    MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, grid);
    require(got[0] == (rank ? rank - 1 : -1), "the neighbour below");
    expect_bytes("MPI_Neighbor_alltoall", there * ITEM, there * ITEM);
    int counts[2] = { 1, 1 }, at[2] = { 0, 1 };
    MPI_Neighbor_alltoallv(send, counts, at, MPI_INT, got, counts, at, MPI_INT, grid);
    expect_bytes("MPI_Neighbor_alltoallv", there * ITEM, there * ITEM);
    MPI_Comm_free(&grid);
}

/* Each sends to the next two, and receives from the previous two. */
static void on_a_graph(void)
{
    int sources[2] = { (rank + RANKS - 1) % RANKS, (rank + RANKS - 2) % RANKS };
    int targets[2] = { (rank + 1) % RANKS, (rank + 2) % RANKS }, got[2];
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, graph);
    require(got[0] == sources[0] && got[1] == sources[1], "a graph");
    expect_bytes("MPI_Neighbor_allgather", 2 * ITEM, 2 * ITEM);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    require(size == RANKS, "four ranks");
    across();
    on_a_grid();
    on_a_graph();
    return expect_end();
}
