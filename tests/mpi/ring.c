/* A ring: typical of MPI programs, blocking and non-blocking, with known bytes. With a directory as its argument it
 * waits there for another one, so that both run at the same time. */
#include "expect.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 10 };

static void turn(int right, int left)
{
    int token = rank, got = -1;
    for (int i = 0; i < TURNS; i++) {
        MPI_Sendrecv(&token, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token = got;
    }
    require(got == (rank - TURNS % size + size) % size, "the token went round");
    expect_calls("MPI_Sendrecv", TURNS);
    expect_bytes("MPI_Sendrecv", TURNS * sizeof token, TURNS * sizeof token);
    expect("small_messages", "MPI_Sendrecv", TURNS);
}

static void pass_text(int right, int left)
{
    char text[100] = "", word[] = "hello";
    MPI_Request requests[2];
    MPI_Irecv(text, sizeof text, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(word, 5, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    require(strcmp(text, word) == 0, "the text came");
    expect("received_bytes", "MPI_Irecv", 5);
    expect("sent_bytes", "MPI_Isend", 5);
}

static int files(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* The other may never come: on a busy node one of two mpirun that start at once can fail. */
static void meet(const char *folder)
{
    char path[4096];
    int looks = 0;
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    fclose(fopen(path, "w"));
    while (files(folder) < 2 && looks++ < 6000)
        usleep(10000);
    require(looks <= 6000, "another that came within a minute");
}

int main(int argc, char **argv)
{
    int sum = 1;
    expect_begin(argc, argv);
    if (argc > 1 && rank == 0)
        meet(argv[1]);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    turn(right, left);
    pass_text(right, left);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    require(sum == size, "the sum");
    expect_bytes("MPI_Allreduce", sizeof sum, sizeof sum);
    MPI_Pcontrol(2, 100); /* for another tool: tools/next_tool.c */
    MPI_Barrier(MPI_COMM_WORLD);
    expect_calls("MPI_Barrier", 1);
    expect_calls("MPI_Init", 1);
    expect_peer(right, TURNS + 1, TURNS * sizeof(int) + 5);
    return expect_end();
}
