/* One function for each shape of a collective. P is the number of ranks that data goes to and comes from. */
#include "probe/mpi/collectives.h"

#include "probe/mpi/handles.h"

/* What a rank is in a collective that has a root. */
enum role { NOBODY, ROOT, OTHER };

static enum role role_of(struct call *call, int root, MPI_Comm comm, int *others)
{
    struct group_facts group = handles_group(call, comm);
    *others = group.others;
    call->ranks = (uint32_t)group.others;
    if (group.has_two_sides)
        return root == MPI_ROOT ? ROOT : root == MPI_PROC_NULL ? NOBODY : OTHER;
    return root == group.rank ? ROOT : OTHER;
}

/* Between the ranks of one side the root is among the others. */
static bool has_own_part(struct call *call, MPI_Comm comm)
{
    return !handles_group(call, comm).has_two_sides;
}

static int64_t count_at(struct counts counts, int i)
{
    if (counts.size == sizeof(int32_t))
        return ((const int32_t *)counts.list)[i];
    return ((const int64_t *)counts.list)[i];
}

static bool is_absent(uint64_t absent, int i)
{
    return i < 64 && absent >> i & 1;
}

static int64_t sum_but(struct counts counts, int number, uint64_t absent)
{
    int64_t all = 0;
    for (int i = 0; i < number; i++)
        all += is_absent(absent, i) ? 0 : count_at(counts, i);
    return all;
}

static int64_t sum(struct counts counts, int number)
{
    return sum_but(counts, number, 0);
}

/* Types of counts that are 0 need not be types at all. */
static uint64_t sum_bytes(struct call *call, struct counts counts, const MPI_Datatype *types, int number, uint64_t absent)
{
    uint64_t bytes = 0;
    for (int i = 0; i < number; i++)
        if (count_at(counts, i) > 0 && !is_absent(absent, i))
            bytes += handles_bytes(call, count_at(counts, i), types[i]);
    return bytes;
}

static int others_of(struct call *call, MPI_Comm comm)
{
    int others = handles_group(call, comm).others;
    call->ranks = (uint32_t)others;
    return others;
}

void bcast(struct call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int others;
    enum role role = role_of(call, root, comm, &others);
    if (role == ROOT)
        call->out = handles_bytes(call, count, type);
    else if (role == OTHER)
        call->in = handles_bytes(call, count, type);
}

void reduce(struct call *call, int64_t count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int others;
    enum role role = role_of(call, root, comm, &others);
    if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->out = handles_bytes(call, count, type);
    if (role == ROOT)
        call->in = handles_bytes(call, count, type);
}

void allreduce(struct call *call, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    others_of(call, comm);
    call->out = call->in = handles_bytes(call, count, type);
}

/* The first rank gets nothing. */
void exscan(struct call *call, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    allreduce(call, count, type, comm);
    if (handles_group(call, comm).rank == 0)
        call->in = 0;
}

static int own_size(struct call *call, MPI_Comm comm)
{
    int size = 0;
    if (!handles_group(call, comm).has_two_sides)
        return handles_group(call, comm).others;
    real.MPI_Comm_size(comm, &size);
    return size;
}

/* The result is shared out among the ranks of one's own side. */
void reduce_scatter_block(struct call *call, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    others_of(call, comm);
    call->out = handles_bytes(call, count * own_size(call, comm), type);
    call->in = handles_bytes(call, count, type);
}

void collectives_reduce_scatter(struct call *call, struct counts counts, MPI_Datatype type, MPI_Comm comm)
{
    others_of(call, comm);
    call->out = handles_bytes(call, sum(counts, own_size(call, comm)), type);
    call->in = handles_bytes(call, count_at(counts, handles_group(call, comm).rank), type);
}

void gather(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int others;
    enum role role = role_of(call, root, comm, &others);
    if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->out = sendbuf == MPI_IN_PLACE ? handles_bytes(call, recvcount, recvtype) : handles_bytes(call, sendcount, sendtype);
    if (role == ROOT)
        call->in = handles_bytes(call, recvcount * others, recvtype);
}

void collectives_gatherv(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int others;
    enum role role = role_of(call, root, comm, &others);
    if (role == ROOT && has_own_part(call, comm) && sendbuf == MPI_IN_PLACE)
        call->out = handles_bytes(call, count_at(recvcounts, handles_group(call, comm).rank), recvtype);
    else if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->out = handles_bytes(call, sendcount, sendtype);
    if (role == ROOT)
        call->in = handles_bytes(call, sum(recvcounts, others), recvtype);
}

void scatter(struct call *call, int64_t sendcount, MPI_Datatype sendtype, const void *recvbuf, int64_t recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int others;
    enum role role = role_of(call, root, comm, &others);
    if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->in = recvbuf == MPI_IN_PLACE ? handles_bytes(call, sendcount, sendtype) : handles_bytes(call, recvcount, recvtype);
    if (role == ROOT)
        call->out = handles_bytes(call, sendcount * others, sendtype);
}

void collectives_scatterv(struct call *call, struct counts sendcounts, MPI_Datatype sendtype, const void *recvbuf,
    int64_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int others;
    enum role role = role_of(call, root, comm, &others);
    if (role == ROOT && has_own_part(call, comm) && recvbuf == MPI_IN_PLACE)
        call->in = handles_bytes(call, count_at(sendcounts, handles_group(call, comm).rank), sendtype);
    else if (role == OTHER || (role == ROOT && has_own_part(call, comm)))
        call->in = handles_bytes(call, recvcount, recvtype);
    if (role == ROOT)
        call->out = handles_bytes(call, sum(sendcounts, others), sendtype);
}

void allgather(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    int others = others_of(call, comm);
    call->out = sendbuf == MPI_IN_PLACE ? handles_bytes(call, recvcount, recvtype) : handles_bytes(call, sendcount, sendtype);
    call->in = handles_bytes(call, recvcount * others, recvtype);
}

void collectives_allgatherv(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm)
{
    int others = others_of(call, comm);
    call->out = sendbuf == MPI_IN_PLACE ? handles_bytes(call, count_at(recvcounts, handles_group(call, comm).rank), recvtype)
                                        : handles_bytes(call, sendcount, sendtype);
    call->in = handles_bytes(call, sum(recvcounts, others), recvtype);
}

void alltoall(struct call *call, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    int others = others_of(call, comm);
    call->in = handles_bytes(call, recvcount * others, recvtype);
    call->out = sendbuf == MPI_IN_PLACE ? call->in : handles_bytes(call, sendcount * others, sendtype);
}

void collectives_alltoallv(struct call *call, const void *sendbuf, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm)
{
    int others = others_of(call, comm);
    call->in = handles_bytes(call, sum(recvcounts, others), recvtype);
    call->out = sendbuf == MPI_IN_PLACE ? call->in : handles_bytes(call, sum(sendcounts, others), sendtype);
}

void collectives_alltoallw(struct call *call, const void *sendbuf, struct counts sendcounts, const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    int others = others_of(call, comm);
    call->in = sum_bytes(call, recvcounts, recvtypes, others, 0);
    call->out = sendbuf == MPI_IN_PLACE ? call->in : sum_bytes(call, sendcounts, sendtypes, others, 0);
}

static int present(int number, uint64_t absent)
{
    return number - __builtin_popcountll(absent);
}

void neighbor_allgather(struct call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = handles_bytes(call, sendcount * present(all.destinations, all.absent), sendtype);
    call->in = handles_bytes(call, recvcount * present(all.sources, all.absent), recvtype);
}

void collectives_neighbor_allgatherv(struct call *call, int64_t sendcount, MPI_Datatype sendtype, struct counts recvcounts,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = handles_bytes(call, sendcount * present(all.destinations, all.absent), sendtype);
    call->in = handles_bytes(call, sum_but(recvcounts, all.sources, all.absent), recvtype);
}

void neighbor_alltoall(struct call *call, int64_t sendcount, MPI_Datatype sendtype, int64_t recvcount,
    MPI_Datatype recvtype, MPI_Comm comm)
{
    neighbor_allgather(call, sendcount, sendtype, recvcount, recvtype, comm);
}

void collectives_neighbor_alltoallv(struct call *call, struct counts sendcounts, MPI_Datatype sendtype,
    struct counts recvcounts, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = handles_bytes(call, sum_but(sendcounts, all.destinations, all.absent), sendtype);
    call->in = handles_bytes(call, sum_but(recvcounts, all.sources, all.absent), recvtype);
}

void collectives_neighbor_alltoallw(struct call *call, struct counts sendcounts, const MPI_Datatype *sendtypes,
    struct counts recvcounts, const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    struct neighbours all = handles_neighbours(call, comm);
    call->out = sum_bytes(call, sendcounts, sendtypes, all.destinations, all.absent);
    call->in = sum_bytes(call, recvcounts, recvtypes, all.sources, all.absent);
}
