/* Bytes that a rank sends and receives in a collective: steps of rules.txt. MPI_IN_PLACE counts as if the data were
 * in a separate buffer, so that the numbers do not depend on it. Arguments that are not significant at a rank are
 * never read. In an intercommunicator, data is exchanged with the remote group. */
#ifndef SONDE_PROBE_MPI_COLLECTIVES_H
#define SONDE_PROBE_MPI_COLLECTIVES_H

#include "probe/mpi/call.h"

/* Arrays of counts have elements of int or, in functions with large counts, MPI_Count. */
struct counts {
    const void *list;
    size_t size; /* of one element */
};
#define COUNTS(list) (struct counts){ list, sizeof *(list) }

void step_bcast(struct mpi_call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm);
void step_reduce(struct mpi_call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm);
void step_allreduce(struct mpi_call *call, int64_t count, MPI_Datatype type, MPI_Comm comm);
void step_exscan(struct mpi_call *call, int64_t count, MPI_Datatype type, MPI_Comm comm);
void step_reduce_scatter_block(struct mpi_call *call, int64_t count, MPI_Datatype type, MPI_Comm comm);
void collectives_reduce_scatter(struct mpi_call *call, struct counts counts, MPI_Datatype type, MPI_Comm comm);

void step_gather(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);
void collectives_gatherv(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, int root, MPI_Comm comm);
void step_scatter(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype, const void *recvbuf, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);
void collectives_scatterv(struct mpi_call *call, struct counts sendcounts, MPI_Datatype sendtype, const void *recvbuf,
    int64_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);

void step_allgather(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_allgatherv(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm);
void step_alltoall(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_alltoallv(struct mpi_call *call, const void *sendbuf, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm);
void collectives_alltoallw(struct mpi_call *call, const void *sendbuf, struct counts sendcounts,
                           const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm);

void step_neighbor_allgather(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_neighbor_allgatherv(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype,
                                     struct counts recvcounts,
    MPI_Datatype recvtype, MPI_Comm comm);
void step_neighbor_alltoall(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm);
void collectives_neighbor_alltoallv(struct mpi_call *call, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm);
void collectives_neighbor_alltoallw(struct mpi_call *call, struct counts sendcounts, const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm);

#define step_reduce_scatter(call, counts, type, comm) collectives_reduce_scatter(call, COUNTS(counts), type, comm)
#define step_gatherv(call, sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm) \
    collectives_gatherv(call, sendbuf, sendcount, sendtype, COUNTS(recvcounts), recvtype, root, comm)
#define step_scatterv(call, sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm) \
    collectives_scatterv(call, COUNTS(sendcounts), sendtype, recvbuf, recvcount, recvtype, root, comm)
#define step_allgatherv(call, sendbuf, sendcount, sendtype, recvcounts, recvtype, comm) \
    collectives_allgatherv(call, sendbuf, sendcount, sendtype, COUNTS(recvcounts), recvtype, comm)
#define step_alltoallv(call, sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm) \
    collectives_alltoallv(call, sendbuf, COUNTS(sendcounts), sendtype, COUNTS(recvcounts), recvtype, comm)
#define step_alltoallw(call, sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm) \
    collectives_alltoallw(call, sendbuf, COUNTS(sendcounts), sendtypes, COUNTS(recvcounts), recvtypes, comm)
#define step_neighbor_allgatherv(call, sendcount, sendtype, recvcounts, recvtype, comm) \
    collectives_neighbor_allgatherv(call, sendcount, sendtype, COUNTS(recvcounts), recvtype, comm)
#define step_neighbor_alltoallv(call, sendcounts, sendtype, recvcounts, recvtype, comm) \
    collectives_neighbor_alltoallv(call, COUNTS(sendcounts), sendtype, COUNTS(recvcounts), recvtype, comm)
#define step_neighbor_alltoallw(call, sendcounts, sendtypes, recvcounts, recvtypes, comm) \
    collectives_neighbor_alltoallw(call, COUNTS(sendcounts), sendtypes, COUNTS(recvcounts), recvtypes, comm)

#endif
