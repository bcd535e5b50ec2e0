/* The minimum cost of a wrapper: the call between two clock readings, with a status if the caller wants none. Built by bench/run with
 * mpicc of each family as a library to preload. It counts nothing: it shows which part of the probe's cost is due to the node. */
#include <mpi.h>
#include <stdint.h>

static volatile uint64_t spent;

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#else
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#endif
}

#define TIMED(call) \
    uint64_t begin = ticks(); \
    int code = call; \
    spent += ticks() - begin; \
    return code

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    TIMED(PMPI_Comm_rank(comm, rank));
}

int MPI_Barrier(MPI_Comm comm)
{
    TIMED(PMPI_Barrier(comm));
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    TIMED(PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                        status == MPI_STATUS_IGNORE ? &own : status));
}

int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    TIMED(PMPI_Isend(buf, count, datatype, dest, tag, comm, request));
}

int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    TIMED(PMPI_Irecv(buf, count, datatype, source, tag, comm, request));
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    MPI_Status own[16];
    TIMED(PMPI_Waitall(count, requests, statuses == MPI_STATUSES_IGNORE && count <= 16 ? own : statuses));
}
