/* Threads that communicate concurrently: each exchanges messages with its counterpart in the other rank, and every
 * other receive is completed by another thread than the one that posted it. Two ranks. "init": with plain MPI_Init,
 * where the environment requests MPI_THREAD_MULTIPLE. */
#include "expect.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { THREADS = 4, MESSAGES = 500, ITEM = sizeof(int) };

static int other;
static MPI_Request posted[THREADS][MESSAGES];
static int boxes[THREADS][MESSAGES];
static pthread_barrier_t all;

static void *speak(void *argument)
{
    int me = *(const int *)argument, neighbour = (me + 1) % THREADS;
    MPI_Request sent;
    for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(&boxes[me][i], 1, MPI_INT, other, me, MPI_COMM_WORLD, &posted[me][i]);
    pthread_barrier_wait(&all);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Isend(&i, 1, MPI_INT, other, me, MPI_COMM_WORLD, &sent);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (i % 2)
            MPI_Wait(&posted[me][i], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < MESSAGES; i += 2)
        for (int flag = 0; !flag;)
            MPI_Test(&posted[neighbour][i], &flag, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, numbers[THREADS];
    pthread_t threads[THREADS];
    bool is_plain = argc > 1 && strcmp(argv[1], "init") == 0;
    if (is_plain)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (is_plain)
        MPI_Query_thread(&provided);
    expect_begin(-1, argv);
    require(provided == MPI_THREAD_MULTIPLE && size == 2, "threads, and two ranks");
    other = 1 - rank;
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, speak, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS * MESSAGES; i++)
        require(boxes[i / MESSAGES][i % MESSAGES] == i % MESSAGES, "what came");
    expect_calls("MPI_Isend", THREADS * MESSAGES);
    expect("sent_bytes", "MPI_Isend", THREADS * MESSAGES * ITEM);
    expect("received_bytes", "MPI_Irecv", THREADS * MESSAGES * ITEM);
    expect_peer(other, THREADS * MESSAGES, THREADS * MESSAGES * ITEM);
    expect_calls(is_plain ? "MPI_Init" : "MPI_Init_thread", 1);
    return expect_end();
}
