/* Persistent collectives: of MPI-4, or of OpenMPI 4, which has them as an extension. Four ranks in a line; an item
 * is an int. */
#include "expect.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#if MPI_VERSION >= 4
#define NAME(rest) MPI_##rest
#define PREFIX "MPI_"
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define NAME(rest) MPIX_##rest
#define PREFIX "MPIX_"
#endif

#ifdef PREFIX

#ifdef MPICH_VERSION
enum { STARTS = 1 }; /* MPICH 4.0 itself fails at the second start of MPI_Scatter_init's request */
#else
enum { STARTS = 3 };
#endif
enum { RANKS = 4, ITEM = sizeof(int), MADE = 22 };

static int out[MADE][RANKS], in[MADE][RANKS];
static const int ones[RANKS] = { 1, 1, 1, 1 }, at[RANKS] = { 0, 1, 2, 3 }, bytes_at[RANKS] = { 0, 4, 8, 12 };
static const MPI_Aint far_at[RANKS] = { 0, 4, 8, 12 };
static MPI_Datatype types[RANKS];
static MPI_Request requests[MADE];

#define ENDS MPI_INFO_NULL, &requests[made]
#define EACH(sent, received, rest, ...) \
    NAME(rest)(__VA_ARGS__, ENDS); \
    expect_bytes(PREFIX #rest, (unsigned long long)(sent) * STARTS * ITEM, (unsigned long long)(received) * STARTS * ITEM); \
    expect_calls(PREFIX #rest, 1); \
    made++

static int make_together(int made)
{
    MPI_Comm all = MPI_COMM_WORLD;
    int is_root = rank == 1;
    EACH(1, 1, Allreduce_init, &rank, in[made], 1, MPI_INT, MPI_SUM, all);
    EACH(1, RANKS, Allgather_init, out[made], 1, MPI_INT, in[made], 1, MPI_INT, all);
    EACH(1, RANKS, Allgatherv_init, out[made], 1, MPI_INT, in[made], ones, at, MPI_INT, all);
    EACH(RANKS, RANKS, Alltoall_init, out[made], 1, MPI_INT, in[made], 1, MPI_INT, all);
    EACH(RANKS, RANKS, Alltoallv_init, out[made], ones, at, MPI_INT, in[made], ones, at, MPI_INT, all);
    EACH(RANKS, RANKS, Alltoallw_init, out[made], ones, bytes_at, types, in[made], ones, bytes_at, types, all);
    EACH(is_root ? 4 : 0, is_root ? 0 : 4, Bcast_init, in[made], 4, MPI_INT, 1, all);
    EACH(1, rank ? 1 : 0, Exscan_init, out[made], in[made], 1, MPI_INT, MPI_SUM, all);
    EACH(1, 1, Scan_init, out[made], in[made], 1, MPI_INT, MPI_SUM, all);
    EACH(1, is_root ? RANKS : 0, Gather_init, out[made], 1, MPI_INT, in[made], 1, MPI_INT, 1, all);
    EACH(1, is_root ? RANKS : 0, Gatherv_init, out[made], 1, MPI_INT, in[made], ones, at, MPI_INT, 1, all);
    EACH(is_root ? RANKS : 0, 1, Scatter_init, out[made], 1, MPI_INT, in[made], 1, MPI_INT, 1, all);
    EACH(is_root ? RANKS : 0, 1, Scatterv_init, out[made], ones, at, MPI_INT, in[made], 1, MPI_INT, 1, all);
    EACH(2, is_root ? 2 : 0, Reduce_init, out[made], in[made], 2, MPI_INT, MPI_SUM, 1, all);
    EACH(RANKS, 1, Reduce_scatter_init, out[made], in[made], ones, MPI_INT, MPI_SUM, all);
    EACH(RANKS, 1, Reduce_scatter_block_init, out[made], in[made], 1, MPI_INT, MPI_SUM, all);
    return made;
}

/* A line of ranks: the first and the last have one neighbour. */
static int make_with_neighbours(int made)
{
    MPI_Comm line;
    int ranks[1] = { RANKS }, periods[1] = { 0 }, near = rank % (RANKS - 1) ? 2 : 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, ranks, periods, 0, &line);
    EACH(near, near, Neighbor_allgather_init, out[made], 1, MPI_INT, in[made], 1, MPI_INT, line);
    EACH(near, near, Neighbor_allgatherv_init, out[made], 1, MPI_INT, in[made], ones, at, MPI_INT, line);
    EACH(near, near, Neighbor_alltoall_init, out[made], 1, MPI_INT, in[made], 1, MPI_INT, line);
    EACH(near, near, Neighbor_alltoallv_init, out[made], ones, at, MPI_INT, in[made], ones, at, MPI_INT, line);
    EACH(near, near, Neighbor_alltoallw_init, out[made], ones, far_at, types, in[made], ones, far_at, types, line);
    return made;
}

static void play(void)
{
    for (int i = 0; i < RANKS; i++)
        types[i] = MPI_INT;
    int made = make_with_neighbours(make_together(0));
    NAME(Barrier_init)(MPI_COMM_WORLD, ENDS);
    expect_calls(PREFIX "Barrier_init", 1);
    for (int i = 0; i < STARTS; i++) {
        in[0][0] = 0;
        MPI_Startall(MADE, requests);
        MPI_Waitall(MADE, requests, MPI_STATUSES_IGNORE);
        require(in[0][0] == 6, "a sum over all ranks");
    }
    for (int i = 0; i < MADE; i++)
        MPI_Request_free(&requests[i]);
}
#else
static void play(void) {}
#endif

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    play();
    expect_calls("MPI_Comm_rank", 1);
    return expect_end();
}
