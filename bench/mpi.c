/* The cost of MPI calls in ns, the best of several rounds, and the CPU time of MPI_Init. Built by bench/run with mpicc of each family,
 * and run without the probe, with two clock readings per call (mpi_floor.c), with counts and with everything. Prints: Comm_rank
 * Barrier(SELF) Sendrecv(self, 8 bytes) Isend+Irecv+Waitall Init. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 100, CALLS = 5000 };

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void comm_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_SELF);
}

static void sendrecv(void)
{
    uint64_t out = 1, in;
    MPI_Sendrecv(&out, 8, MPI_BYTE, 0, 0, &in, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void isend(void)
{
    uint64_t out = 1, in;
    MPI_Request requests[2];
    MPI_Irecv(&in, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&out, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static double best_of(void (*what)(void), int calls)
{
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < calls; i++)
            what();
        double each = (now_ns(CLOCK_MONOTONIC) - begin) / calls;
        best = each < best ? each : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    double begin = now_ns(CLOCK_PROCESS_CPUTIME_ID); /* wall time depends on sockets and other processes */
    MPI_Init(&argc, &argv);
    double init = now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    printf("%.1f %.1f %.1f %.1f %.1f\n", best_of(comm_rank, CALLS), best_of(barrier, CALLS), best_of(sendrecv, CALLS),
           best_of(isend, CALLS / 5), init / 1e6);
    MPI_Finalize();
    return 0;
}
