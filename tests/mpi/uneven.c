/* Ranks that wait: the last one comes 20 ms too late to each of 20 sums, and says nothing for 20 ms before each of 10
 * messages. */
#include "expect.h"

#include <unistd.h>

enum { SUMS = 20, MESSAGES = 10, LATE_US = 20000 };

int main(int argc, char **argv)
{
    int sum = 1, is_last;
    expect_begin(argc, argv);
    is_last = rank == size - 1;
    for (int i = 0; i < SUMS; i++) {
        if (is_last)
            usleep(LATE_US);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    for (int i = 0; i < MESSAGES && size > 1; i++) {
        if (is_last) {
            usleep(LATE_US);
            MPI_Send(&sum, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Recv(&sum, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    expect_calls("MPI_Allreduce", SUMS);
    return expect_end();
}
