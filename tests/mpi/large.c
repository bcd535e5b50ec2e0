/* More bytes than fit an int, without the memory: a type that covers the same location repeatedly, in a communicator
 * of one; and, if available, functions with large counts and a persistent collective. One rank. */
#include "expect.h"

enum { BLOCK = 1 << 20, BLOCKS = 5000 };

int main(int argc, char **argv)
{
    static char block[BLOCK];
    MPI_Datatype huge;
    MPI_Count bytes;
    expect_begin(argc, argv);
    MPI_Type_create_hvector(BLOCKS, BLOCK, 0, MPI_CHAR, &huge);
    MPI_Type_commit(&huge);
    MPI_Type_size_x(huge, &bytes);
    require(bytes == (MPI_Count)BLOCK * BLOCKS, "its size");
    MPI_Bcast(block, 1, huge, 0, MPI_COMM_SELF);
    expect("sent_bytes", "MPI_Bcast", (unsigned long long)BLOCK * BLOCKS);
#if MPI_VERSION >= 4
    int in[4], out[4] = { 1, 2, 3, 4 };
    MPI_Count counts[1] = { 4 };
    MPI_Aint at[1] = { 0 };
    MPI_Sendrecv_c(out, 4, MPI_INT, 0, 0, in, 4, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    require(in[3] == 4, "a large count");
    MPI_Allgatherv_c(out, 4, MPI_INT, in, counts, at, MPI_INT, MPI_COMM_SELF);
    MPI_Bcast_c(block, 3, huge, 0, MPI_COMM_SELF);
    MPI_Request request;
    MPI_Allreduce_init(out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    expect_bytes("MPI_Allreduce_init", 3 * sizeof out, 3 * sizeof in);
    expect_bytes("MPI_Sendrecv_c", sizeof out, sizeof in);
    expect_bytes("MPI_Allgatherv_c", sizeof out, sizeof in);
    expect("sent_bytes", "MPI_Bcast_c", 3ull * BLOCK * BLOCKS);
#endif
    MPI_Type_free(&huge);
    return expect_end();
}
