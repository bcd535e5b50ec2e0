/* Requests: persistent, many at once, cancelled, freed while they run, of a kind of one's own, that send and
 * receive. Two ranks. */
#include "expect.h"

enum { ITEM = sizeof(int), MANY = 100, BOTH = MPI_VERSION >= 4 ? 4 : 0 };

static int other;

static void persistent(void)
{
    int out[8] = { 0 }, in[8];
    MPI_Request requests[2], fresh;
    MPI_Status statuses[2];
    MPI_Send_init(out, 4, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 8, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, i % 2 ? statuses : MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* inactive: at once, and nothing came */
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    for (int done = 0; !done;)
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Isend(out, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &fresh); /* perhaps with a handle that was used before */
    MPI_Recv(in, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&fresh, MPI_STATUS_IGNORE);
    expect("sent_bytes", "MPI_Send_init", 6 * 4 * ITEM);
    expect("received_bytes", "MPI_Recv_init", 6 * 4 * ITEM);
    expect("small_messages", "MPI_Send_init", 6);
}

/* i ints in message i; each way to wait takes some of them. */
static void many(void)
{
    static int out[MANY][MANY], in[MANY][MANY];
    MPI_Request requests[2 * MANY];
    int indices[2 * MANY], done, index, left = 2 * MANY;
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(in[i], MANY, MPI_INT, other, 10 + i, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(out[i], i, MPI_INT, other, 10 + i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    for (int i = 0; i < 10; i++, left--)
        MPI_Waitany(2 * MANY, requests, &index, MPI_STATUS_IGNORE);
    while (left > 150) {
        MPI_Waitsome(2 * MANY, requests, &done, indices, MPI_STATUSES_IGNORE);
        left -= done;
        if (done == MPI_UNDEFINED)
            break;
    }
    for (int flag = 0; !flag;)
        MPI_Testany(2 * MANY, requests, &index, &flag, MPI_STATUS_IGNORE);
    MPI_Testsome(2 * MANY, requests, &done, indices, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 5; i++)
        MPI_Test(&requests[3 * i], &done, MPI_STATUS_IGNORE);
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    MPI_Waitany(2 * MANY, requests, &index, MPI_STATUS_IGNORE);
    require(index == MPI_UNDEFINED, "none is left");
    unsigned long long all = (unsigned long long)MANY * (MANY - 1) / 2 * ITEM;
    expect("received_bytes", "MPI_Irecv", all + 3 * ITEM + BOTH * 5 * ITEM); /* and those of cancelled and both */
    expect("sent_bytes", "MPI_Isend", all + ITEM + 3 * ITEM);
    expect_calls("MPI_Irecv", MANY + 2 + BOTH);
}

/* A receive that nobody answers is cancelled; the next one, perhaps with its handle, is not. */
static void cancelled(void)
{
    int buffer[3], is_cancelled;
    MPI_Request request, sent;
    MPI_Status status;
    MPI_Irecv(buffer, 3, MPI_INT, other, 999, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    require(is_cancelled, "it was cancelled");
    MPI_Irecv(buffer, 3, MPI_INT, other, 3, MPI_COMM_WORLD, &request);
    MPI_Isend(buffer, 3, MPI_INT, other, 3, MPI_COMM_WORLD, &sent);
    MPI_Request_free(&sent);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 12345);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    *(int *)state += 1;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

/* Its status says 12345 bytes, which nobody received. */
static void of_our_own(void)
{
    int freed = 0;
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, &freed, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(freed == 1, "a request of our own");
}

/* Requests that receive before and after, perhaps with the same handle: of what they leave in MPI's memory nothing may be counted
 * for those that do both. OpenMPI says how much came, MPICH does not. */
static void both(void)
{
#if MPI_VERSION >= 4
    int out[5] = { 0 }, in[5];
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < BOTH; i++) {
        MPI_Irecv(in, 5, MPI_INT, other, 5, MPI_COMM_WORLD, &request);
        MPI_Send(out, 5, MPI_INT, other, 5, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isendrecv(out, 3, MPI_INT, other, 6, in, 5, MPI_INT, other, 6, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, i % 2 ? &status : MPI_STATUS_IGNORE);
        MPI_Isendrecv_replace(out, 2, MPI_INT, other, 7, other, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    expect("sent_bytes", "MPI_Isendrecv", BOTH * 3 * ITEM);
    expect("sent_bytes", "MPI_Isendrecv_replace", BOTH * 2 * ITEM);
#ifdef OPEN_MPI
    expect("received_bytes", "MPI_Isendrecv", BOTH * 3 * ITEM);
    expect("received_bytes", "MPI_Isendrecv_replace", BOTH * 2 * ITEM);
#endif
#endif
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    require(size == 2, "two ranks");
    other = 1 - rank;
    persistent();
    many();
    cancelled();
    of_our_own();
    both();
    return expect_end();
}
