/* Collectives in all the ways of the standard: in place with invalid types, with garbage where an argument is not
 * significant, with zero counts, and non-blocking. Four ranks; an item is an int. */
#include "expect.h"

enum { RANKS = 4, ITEM = sizeof(int) };

/* Must never be read. */
#define RUBBISH_TYPE MPI_DATATYPE_NULL
#define RUBBISH (-12345)

static int out[RANKS * RANKS], in[RANKS * RANKS];
static const int ones[RANKS] = { 1, 1, 1, 1 }, at[RANKS] = { 0, 1, 2, 3 };

static void in_place_everywhere(void)
{
    for (int i = 0; i < RANKS; i++)
        in[i] = rank;
    MPI_Allgather(MPI_IN_PLACE, RUBBISH, RUBBISH_TYPE, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < RANKS; i++)
        require(in[i] == i, "allgather in place");
    expect_bytes("MPI_Allgather", ITEM, RANKS * ITEM);
    MPI_Allgatherv(MPI_IN_PLACE, RUBBISH, RUBBISH_TYPE, in, ones, at, MPI_INT, MPI_COMM_WORLD);
    expect_bytes("MPI_Allgatherv", ITEM, RANKS * ITEM);
    MPI_Alltoall(MPI_IN_PLACE, RUBBISH, RUBBISH_TYPE, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < RANKS; i++)
        require(in[i] == rank, "alltoall in place");
    expect_bytes("MPI_Alltoall", RANKS * ITEM, RANKS * ITEM);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, RUBBISH_TYPE, in, ones, at, MPI_INT, MPI_COMM_WORLD);
    expect_bytes("MPI_Alltoallv", RANKS * ITEM, RANKS * ITEM);
    MPI_Allreduce(MPI_IN_PLACE, in, RANKS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect_bytes("MPI_Allreduce", RANKS * ITEM, RANKS * ITEM);
    MPI_Scan(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect_bytes("MPI_Scan", ITEM, ITEM);
    MPI_Exscan(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect_bytes("MPI_Exscan", ITEM, rank ? ITEM : 0);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect_bytes("MPI_Reduce_scatter_block", RANKS * ITEM, ITEM);
    MPI_Reduce_scatter(MPI_IN_PLACE, in, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect_bytes("MPI_Reduce_scatter", RANKS * ITEM, ITEM);
}

static void in_place_at_the_root(void)
{
    int is_root = rank == 2;
    in[0] = out[0] = rank;
    if (is_root) {
        in[2] = rank;
        MPI_Gather(MPI_IN_PLACE, RUBBISH, RUBBISH_TYPE, in, 1, MPI_INT, 2, MPI_COMM_WORLD);
        require(in[0] == 0 && in[3] == 3, "gather in place");
        MPI_Gatherv(MPI_IN_PLACE, RUBBISH, RUBBISH_TYPE, in, ones, at, MPI_INT, 2, MPI_COMM_WORLD);
        MPI_Scatter(in, 1, MPI_INT, MPI_IN_PLACE, RUBBISH, RUBBISH_TYPE, 2, MPI_COMM_WORLD);
        MPI_Scatterv(in, ones, at, MPI_INT, MPI_IN_PLACE, RUBBISH, RUBBISH_TYPE, 2, MPI_COMM_WORLD);
        MPI_Reduce(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
    } else {
        MPI_Gather(out, 1, MPI_INT, NULL, RUBBISH, RUBBISH_TYPE, 2, MPI_COMM_WORLD);
        MPI_Gatherv(out, 1, MPI_INT, NULL, NULL, NULL, RUBBISH_TYPE, 2, MPI_COMM_WORLD);
        MPI_Scatter(NULL, RUBBISH, RUBBISH_TYPE, in, 1, MPI_INT, 2, MPI_COMM_WORLD);
        require(in[0] == rank, "scatter in place");
        MPI_Scatterv(NULL, NULL, NULL, RUBBISH_TYPE, in, 1, MPI_INT, 2, MPI_COMM_WORLD);
        MPI_Reduce(out, NULL, 1, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
    }
    MPI_Bcast(in, 5, MPI_INT, 2, MPI_COMM_WORLD);
    expect_bytes("MPI_Gather", ITEM, is_root ? RANKS * ITEM : 0);
    expect_bytes("MPI_Gatherv", ITEM, is_root ? RANKS * ITEM : 0);
    expect_bytes("MPI_Scatter", is_root ? RANKS * ITEM : 0, ITEM);
    expect_bytes("MPI_Scatterv", is_root ? RANKS * ITEM : 0, ITEM);
    expect_bytes("MPI_Reduce", ITEM, is_root ? ITEM : 0);
    expect_bytes("MPI_Bcast", is_root ? 5 * ITEM : 0, is_root ? 0 : 5 * ITEM);
}

/* Empty types are MPI_DATATYPE_NULL where MPI allows it; rank 3 sends and receives nothing. */
static void nothing_for_some(void)
{
    int counts[RANKS] = { 1, 2, 3, 0 }, mine[RANKS], offsets[RANKS] = { 0, 16, 32, 48 };
    MPI_Datatype types[RANKS] = { MPI_INT, MPI_INT, MPI_INT, MPI_INT };
    int own = counts[rank], sent = 0, received = 0;
    for (int i = 0; i < RANKS; i++) {
        mine[i] = own ? counts[i] : 0;
        sent += mine[i];
    }
    int theirs[RANKS];
    for (int i = 0; i < RANKS; i++) {
        theirs[i] = counts[i] ? own : 0;
        received += theirs[i];
    }
    MPI_Alltoallw(out, mine, offsets, types, in, theirs, offsets, types, MPI_COMM_WORLD);
    expect_bytes("MPI_Alltoallw", sent * ITEM, received * ITEM);
    MPI_Request request;
    MPI_Ialltoallw(out, mine, offsets, types, in, theirs, offsets, types, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_bytes("MPI_Ialltoallw", sent * ITEM, received * ITEM);
}

static void without_blocking(void)
{
    MPI_Request requests[5];
    int sum = 1, all[RANKS], box[RANKS], more = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Ialltoall(out, 1, MPI_INT, box, 1, MPI_INT, MPI_COMM_WORLD, &requests[3]);
    MPI_Ibcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[4]);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    require(sum == RANKS && all[3] == 3, "collectives that do not block");
    expect_bytes("MPI_Iallreduce", ITEM, ITEM);
    expect_bytes("MPI_Iallgather", ITEM, RANKS * ITEM);
    expect_bytes("MPI_Ialltoall", RANKS * ITEM, RANKS * ITEM);
    expect_bytes("MPI_Ibcast", rank ? 0 : ITEM, rank ? ITEM : 0);
    expect_calls("MPI_Ibarrier", 1);
}

static void nothing_at_all(void)
{
    MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    expect_calls("MPI_Bcast", 2);
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    require(size == RANKS, "four ranks");
    in_place_everywhere();
    in_place_at_the_root();
    nothing_for_some();
    without_blocking();
    nothing_at_all();
    return expect_end();
}
