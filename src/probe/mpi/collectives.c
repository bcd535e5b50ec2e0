/* One function for each kind of collective. */
#include "probe/mpi/collectives.h"

#include "probe/mpi/handles.h"

/* The role of a rank in a collective with a root. */
enum role { NOBODY, ROOT, OTHER };

static enum role role_of(struct mpi_call *call, int root, MPI_Comm comm, int *peers)
{
    struct comm_group group = handles_group(call, comm);
    *peers = group.peers;
    call->ranks = (uint32_t)group.peers;
    if (group.is_intercomm)
        return root == MPI_ROOT ? ROOT : root == MPI_PROC_NULL ? NOBODY : OTHER;
    return root == group.rank ? ROOT : OTHER;
}

/* In an intracommunicator, the root also sends to and receives from itself. */
static bool has_own_part(struct mpi_call *call, MPI_Comm comm)
{
    return !handles_group(call, comm).is_intercomm;
}

static int64_t count_at(struct counts counts, int i)
{
    if (counts.size == sizeof(int32_t))
        return ((const int32_t *)counts.list)[i];
    return ((const int64_t *)counts.list)[i];
}

static bool is_missing(uint64_t missing, int i)
{
    return i < 64 && missing >> i & 1;
}

static int64_t sum_but(struct counts counts, int number, uint64_t missing)
{
    int64_t all = 0;
    for (int i = 0; i < number; i++)
        all += is_missing(missing, i) ? 0 : count_at(counts, i);
    return all;
}

static int64_t sum(struct counts counts, int number)
{
    return sum_but(counts, number, 0);
}

/* Datatypes with a count of 0 need not be valid. */
static uint64_t sum_bytes(struct mpi_call *call, struct counts counts, const MPI_Datatype *types, int number,
                          uint64_t missing)
{
    uint64_t bytes = 0;
    for (int i = 0; i < number; i++)
        if (count_at(counts, i) > 0 && !is_missing(missing, i))
            bytes += handles_bytes(call, count_at(counts, i), types[i]);
    return bytes;
}

static int peers_of(struct mpi_call *call, MPI_Comm comm)
{
    int peers = handles_group(call, comm).peers;
    call->ranks = (uint32_t)peers;
    return peers;
}

void step_bcast(struct mpi_call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int peers;
    enum role role = role_of(call, root, comm, &peers);
    if (role == ROOT)
        call->out = handles_bytes(call, count, type);
    else if (role == OTHER)
        call->in = handles_bytes(call, count, type);
}

void step_reduce(struct mpi_call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int peers;
    enum role role = role_of(call, root, comm, &peers);
    if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->out = handles_bytes(call, count, type);
    if (role == ROOT)
        call->in = handles_bytes(call, count, type);
}

void step_allreduce(struct mpi_call *call, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    peers_of(call, comm);
    call->out = call->in = handles_bytes(call, count, type);
}

/* Rank 0 receives nothing. */
void step_exscan(struct mpi_call *call, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    step_allreduce(call, count, type, comm);
    if (handles_group(call, comm).rank == 0)
        call->in = 0;
}

static int own_size(struct mpi_call *call, MPI_Comm comm)
{
    int size = 0;
    if (!handles_group(call, comm).is_intercomm)
        return handles_group(call, comm).peers;
    real.MPI_Comm_size(comm, &size);
    return size;
}

/* The result is distributed among the ranks of the local group. */
void step_reduce_scatter_block(struct mpi_call *call, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    peers_of(call, comm);
    call->out = handles_bytes(call, count * own_size(call, comm), type);
    call->in = handles_bytes(call, count, type);
}

void collectives_reduce_scatter(struct mpi_call *call, struct counts counts, MPI_Datatype type, MPI_Comm comm)
{
    peers_of(call, comm);
    call->out = handles_bytes(call, sum(counts, own_size(call, comm)), type);
    call->in = handles_bytes(call, count_at(counts, handles_group(call, comm).rank), type);
}

void step_gather(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int peers;
    enum role role = role_of(call, root, comm, &peers);
    if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->out = sendbuf == MPI_IN_PLACE ? handles_bytes(call, recvcount, recvtype) : handles_bytes(call,
                                                                                                       sendcount, sendtype);
    if (role == ROOT)
        call->in = handles_bytes(call, recvcount * peers, recvtype);
}

void collectives_gatherv(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int peers;
    enum role role = role_of(call, root, comm, &peers);
    if (role == ROOT && has_own_part(call, comm) && sendbuf == MPI_IN_PLACE)
        call->out = handles_bytes(call, count_at(recvcounts, handles_group(call, comm).rank), recvtype);
    else if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->out = handles_bytes(call, sendcount, sendtype);
    if (role == ROOT)
        call->in = handles_bytes(call, sum(recvcounts, peers), recvtype);
}

void step_scatter(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype, const void *recvbuf, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int peers;
    enum role role = role_of(call, root, comm, &peers);
    if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->in = recvbuf == MPI_IN_PLACE ? handles_bytes(call, sendcount, sendtype) : handles_bytes(call, recvcount,
                                                                                                      recvtype);
    if (role == ROOT)
        call->out = handles_bytes(call, sendcount * peers, sendtype);
}

void collectives_scatterv(struct mpi_call *call, struct counts sendcounts, MPI_Datatype sendtype, const void *recvbuf,
    int64_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int peers;
    enum role role = role_of(call, root, comm, &peers);
    if (role == ROOT && has_own_part(call, comm) && recvbuf == MPI_IN_PLACE)
        call->in = handles_bytes(call, count_at(sendcounts, handles_group(call, comm).rank), sendtype);
    else if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->in = handles_bytes(call, recvcount, recvtype);
    if (role == ROOT)
        call->out = handles_bytes(call, sum(sendcounts, peers), sendtype);
}

void step_allgather(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    int peers = peers_of(call, comm);
    call->out = sendbuf == MPI_IN_PLACE ? handles_bytes(call, recvcount, recvtype) : handles_bytes(call, sendcount,
                                                                                                   sendtype);
    call->in = handles_bytes(call, recvcount * peers, recvtype);
}

void collectives_allgatherv(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm)
{
    int peers = peers_of(call, comm);
    call->out = sendbuf == MPI_IN_PLACE ? handles_bytes(call, count_at(recvcounts, handles_group(call, comm).rank),
                                                        recvtype)
                                        : handles_bytes(call, sendcount, sendtype);
    call->in = handles_bytes(call, sum(recvcounts, peers), recvtype);
}

void step_alltoall(struct mpi_call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    int peers = peers_of(call, comm);
    call->in = handles_bytes(call, recvcount * peers, recvtype);
    call->out = sendbuf == MPI_IN_PLACE ? call->in : handles_bytes(call, sendcount * peers, sendtype);
}

void collectives_alltoallv(struct mpi_call *call, const void *sendbuf, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm)
{
    int peers = peers_of(call, comm);
    call->in = handles_bytes(call, sum(recvcounts, peers), recvtype);
    call->out = sendbuf == MPI_IN_PLACE ? call->in : handles_bytes(call, sum(sendcounts, peers), sendtype);
}

void collectives_alltoallw(struct mpi_call *call, const void *sendbuf, struct counts sendcounts,
                           const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    int peers = peers_of(call, comm);
    call->in = sum_bytes(call, recvcounts, recvtypes, peers, 0);
    call->out = sendbuf == MPI_IN_PLACE ? call->in : sum_bytes(call, sendcounts, sendtypes, peers, 0);
}

static int present(int number, uint64_t missing)
{
    return number - __builtin_popcountll(missing);
}

void step_neighbor_allgather(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = handles_bytes(call, sendcount * present(all.destinations, all.missing), sendtype);
    call->in = handles_bytes(call, recvcount * present(all.sources, all.missing), recvtype);
}

void collectives_neighbor_allgatherv(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype,
                                     struct counts recvcounts,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = handles_bytes(call, sendcount * present(all.destinations, all.missing), sendtype);
    call->in = handles_bytes(call, sum_but(recvcounts, all.sources, all.missing), recvtype);
}

void step_neighbor_alltoall(struct mpi_call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    step_neighbor_allgather(call, sendcount, sendtype, recvcount, recvtype, comm);
}

void collectives_neighbor_alltoallv(struct mpi_call *call, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = handles_bytes(call, sum_but(sendcounts, all.destinations, all.missing), sendtype);
    call->in = handles_bytes(call, sum_but(recvcounts, all.sources, all.missing), recvtype);
}

void collectives_neighbor_alltoallw(struct mpi_call *call, struct counts sendcounts, const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = sum_bytes(call, sendcounts, sendtypes, all.destinations, all.missing);
    call->in = sum_bytes(call, recvcounts, recvtypes, all.sources, all.missing);
}
