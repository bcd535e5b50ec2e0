/* Ranks that wait for others: late HOW.
 *   workers   the first distributes tasks of 50 ms to all others, and waits for them
 *   turns     in turn, each is 50 ms late in a reduction
 *   file      the second writes 400 MiB through MPI before each barrier, the others nothing
 *   end       the second is 1 s late in MPI_Finalize */
#include "expect.h"

#include <string.h>
#include <unistd.h>

enum { PIECES = 10, TURNS = 12, BARRIERS = 3, WRITES = 100, WRITE_BYTES = 4 << 20, PIECE_US = 50000, END_US = 1000000 };

static void hand_out(void)
{
    int piece = 0, wanted = PIECES * (size - 1), others = size - 1;
    MPI_Status status;
    while (others) {
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        int answer = piece < wanted ? piece : -1;
        piece++;
        others -= answer < 0;
        MPI_Send(&answer, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
    }
}

static void work(void)
{
    for (int piece = 0; piece >= 0;) {
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&piece, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (piece >= 0)
            usleep(PIECE_US);
    }
}

static void take_turns(void)
{
    int sum = 0;
    for (int i = 0; i < TURNS; i++) {
        if (i % size == rank)
            usleep(PIECE_US);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
}

static void write_alone(void)
{
    static char bytes[WRITE_BYTES];
    char name[32];
    MPI_File file;
    snprintf(name, sizeof name, "late.%d", rank);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    for (int i = 0; i < BARRIERS; i++) {
        for (int k = 0; k < WRITES && rank == 1; k++)
            MPI_File_write_at(file, 0, bytes, WRITE_BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    expect_begin(argc, argv);
    if (strcmp(how, "workers") == 0)
        rank ? work() : hand_out();
    if (strcmp(how, "turns") == 0)
        take_turns();
    if (strcmp(how, "file") == 0)
        write_alone();
    if (strcmp(how, "end") == 0 && rank == 1)
        usleep(END_US);
    return expect_end();
}
