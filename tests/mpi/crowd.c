/* Very many persistent requests at once, as in a code that creates those of all its neighbours and fields in
 * advance: twice the argument, all started together, twice. Then they are freed, and their entries are free for
 * others. Two ranks. */
#include "expect.h"

enum { ITEM = sizeof(int), ROUNDS = 2, LIMIT = 16384, TAGS = 1000 };

static int other, count;

static void make(MPI_Request *requests)
{
    static int out[2], in[4];
    for (int i = 0; i < count; i++) {
        MPI_Send_init(out, 2, MPI_INT, other, i % TAGS, MPI_COMM_WORLD, &requests[i]);
        MPI_Recv_init(in, 4, MPI_INT, other, i % TAGS, MPI_COMM_WORLD, &requests[count + i]);
    }
}

static void use(MPI_Request *requests)
{
    make(requests);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Startall(2 * count, requests);
        MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2 * count; i++)
        MPI_Request_free(&requests[i]);
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    require(size == 2 && argc > 1, "two ranks, and a number");
    other = 1 - rank;
    count = atoi(argv[1]);
    MPI_Request *requests = malloc(2 * sizeof *requests * (size_t)count);
    use(requests);
    use(requests);
    free(requests);
    unsigned long long bytes = 2ull * ROUNDS * 2 * ITEM * (unsigned)(count < LIMIT ? count : LIMIT);
    expect("sent_bytes", "MPI_Send_init", bytes);
    expect("received_bytes", "MPI_Recv_init", bytes);
    return expect_end();
}
