/* A program with an MPI tool of its own: it defines MPI functions and calls MPI's under their PMPI_ names. Its
 * wrappers must keep working, each call must be counted once, and what it looks up by name must exist. One rank. */
#include "expect.h"

static int barriers, sends;

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

/* It does something else than it was asked for: what is done counts. */
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;
    sends++;
    PMPI_Isend(buffer, count, type, to, tag, comm, &request);
    return PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int value = 3, got = 0, same;
    expect_begin(argc, argv);
    for (int i = 0; i < 4; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    require(barriers == 4, "our own barrier, and MPI's");
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(sends == 1 && got == 3, "our own send");
    int (*there)(MPI_Comm, int *) = MPI_Comm_rank, (*underneath)(MPI_Comm, int *) = PMPI_Comm_rank;
    there(MPI_COMM_WORLD, &got);
    underneath(MPI_COMM_WORLD, &same);
    require(got == same, "both names");
    MPI_Pcontrol(1, "with", "more", 4.5);
    require(MPI_Wtime() >= 0 && MPI_Wtick() > 0 && PMPI_Wtime() >= 0, "the time");
    expect_calls("MPI_Barrier", 5);
    expect_calls("MPI_Isend", 1);
    expect("sent_bytes", "MPI_Isend", sizeof value);
    expect("received_bytes", "MPI_Irecv", sizeof value);
    expect_calls("MPI_Comm_rank", 3);
    expect_calls("MPI_Pcontrol", 1);
    expect_calls("MPI_Wtime", 2);
    return expect_end();
}
