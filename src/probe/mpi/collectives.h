/* What a rank hands over and gets in a collective: words of rules.txt. MPI_IN_PLACE counts as if the data stood in a buffer of
 * its own, so that the numbers do not depend on it; arguments that mean nothing at a rank (of the root, at others) are never
 * looked at. In a communicator with two sides the data goes to and comes from the other side. */
#ifndef SONDE_PROBE_MPI_COLLECTIVES_H
#define SONDE_PROBE_MPI_COLLECTIVES_H

#include "probe/mpi/call.h"

/* Lists of counts are of int or, in functions with large counts, of MPI_Count. */
struct counts {
    const void *list;
    size_t size; /* of one */
};
#define COUNTS(list) (struct counts){ list, sizeof *(list) }

void bcast(struct call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm);
void reduce(struct call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm);
void allreduce(struct call *call, int64_t count, MPI_Datatype type, MPI_Comm comm);
void exscan(struct call *call, int64_t count, MPI_Datatype type, MPI_Comm comm);
void reduce_scatter_block(struct call *call, int64_t count, MPI_Datatype type, MPI_Comm comm);
void collectives_reduce_scatter(struct call *call, struct counts counts, MPI_Datatype type, MPI_Comm comm);

void gather(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);
void collectives_gatherv(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, int root, MPI_Comm comm);
void scatter(struct call *call, int64_t sendcount, MPI_Datatype sendtype, const void *recvbuf, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);
void collectives_scatterv(struct call *call, struct counts sendcounts, MPI_Datatype sendtype, const void *recvbuf,
    int64_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);

void allgather(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_allgatherv(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm);
void alltoall(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_alltoallv(struct call *call, const void *sendbuf, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm);
void collectives_alltoallw(struct call *call, const void *sendbuf, struct counts sendcounts, const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm);

void neighbor_allgather(struct call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_neighbor_allgatherv(struct call *call, int64_t sendcount, MPI_Datatype sendtype, struct counts recvcounts,
    MPI_Datatype recvtype, MPI_Comm comm);
void neighbor_alltoall(struct call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_neighbor_alltoallv(struct call *call, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm);
void collectives_neighbor_alltoallw(struct call *call, struct counts sendcounts, const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm);

#define reduce_scatter(call, counts, type, comm) collectives_reduce_scatter(call, COUNTS(counts), type, comm)
#define gatherv(call, sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm) \
    collectives_gatherv(call, sendbuf, sendcount, sendtype, COUNTS(recvcounts), recvtype, root, comm)
#define scatterv(call, sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm) \
    collectives_scatterv(call, COUNTS(sendcounts), sendtype, recvbuf, recvcount, recvtype, root, comm)
#define allgatherv(call, sendbuf, sendcount, sendtype, recvcounts, recvtype, comm) \
    collectives_allgatherv(call, sendbuf, sendcount, sendtype, COUNTS(recvcounts), recvtype, comm)
#define alltoallv(call, sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm) \
    collectives_alltoallv(call, sendbuf, COUNTS(sendcounts), sendtype, COUNTS(recvcounts), recvtype, comm)
#define alltoallw(call, sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm) \
    collectives_alltoallw(call, sendbuf, COUNTS(sendcounts), sendtypes, COUNTS(recvcounts), recvtypes, comm)
#define neighbor_allgatherv(call, sendcount, sendtype, recvcounts, recvtype, comm) \
    collectives_neighbor_allgatherv(call, sendcount, sendtype, COUNTS(recvcounts), recvtype, comm)
#define neighbor_alltoallv(call, sendcounts, sendtype, recvcounts, recvtype, comm) \
    collectives_neighbor_alltoallv(call, COUNTS(sendcounts), sendtype, COUNTS(recvcounts), recvtype, comm)
#define neighbor_alltoallw(call, sendcounts, sendtypes, recvcounts, recvtypes, comm) \
    collectives_neighbor_alltoallw(call, COUNTS(sendcounts), sendtypes, COUNTS(recvcounts), recvtypes, comm)

#endif
