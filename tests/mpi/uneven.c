/* Ranks that wait: the last one is 20 ms late in each of 20 reductions, sleeps 20 ms before each of 10 messages, and
 * is 20 ms late when communicators are created. */
#include "expect.h"

#include <unistd.h>

enum { SUMS = 20, MESSAGES = 10, LATE_US = 20000 };

static int is_last;

static void be_late(void)
{
    if (is_last)
        usleep(LATE_US);
}

/* Collectives that carry no data. */
static void make_communicators(void)
{
    int keeps = 1, periodic = 0, before = (rank + size - 1) % size, behind = (rank + 1) % size;
    MPI_Comm line, part, circle;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
    be_late();
    MPI_Cart_sub(line, &keeps, &part);
    be_late();
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &behind, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &circle);
    MPI_Comm_free(&circle);
    MPI_Comm_free(&part);
    MPI_Comm_free(&line);
}

int main(int argc, char **argv)
{
    int sum = 1;
    expect_begin(argc, argv);
    is_last = rank == size - 1;
    for (int i = 0; i < SUMS; i++) {
        be_late();
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    for (int i = 0; i < MESSAGES && size > 1; i++) {
        be_late();
        if (is_last) {
            MPI_Send(&sum, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Recv(&sum, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    make_communicators();
    expect_calls("MPI_Allreduce", SUMS);
    return expect_end();
}
