/* Requests: persistent, many at once, cancelled, freed while active, generalized, failing, combined, tested and
 * freed. Two ranks. */
#include "expect.h"

#include <string.h>

enum { ITEM = sizeof(int), MANY = 100, BOTH = MPI_VERSION >= 4 ? 4 : 0, FAILING = 6, LATER = 8, LONG = 20000, LOOKED = 4 };

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
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* inactive: completes at once without data */
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    for (int done = 0; !done;)
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Isend(out, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &fresh); /* perhaps with a reused handle */
    MPI_Recv(in, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&fresh, MPI_STATUS_IGNORE);
    expect("sent_bytes", "MPI_Send_init", 6 * 4 * ITEM);
    expect("received_bytes", "MPI_Recv_init", 6 * 4 * ITEM);
    expect("small_messages", "MPI_Send_init", 6);
}

/* i ints in message i; each way of waiting completes some of them. */
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
    /* and those of cancelled, failed, both and looked_at */
    expect("received_bytes", "MPI_Irecv", all + (3 + (BOTH + FAILING + LOOKED) * 5) * ITEM);
    expect("sent_bytes", "MPI_Isend", all + ITEM + 3 * ITEM);
    expect_calls("MPI_Irecv", MANY + 2 + 2 * FAILING + BOTH + LOOKED);
}

/* A receive without a sender is cancelled; the next one, perhaps with its handle, is not. */
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

/* Its status claims 12345 bytes, which were not received. */
static void of_our_own(void)
{
    int freed = 0;
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, &freed, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(freed == 1, "a request of our own");
}

/* Completes the first of the requests in one of several ways; it fails. */
static void end_failing(int way, int count, MPI_Request *requests)
{
    int index, done = 0, indices[2];
    MPI_Request first = requests[0];
    for (int code = MPI_SUCCESS; code == MPI_SUCCESS && requests[0] == first;)
        switch (way) {
        case 0: code = MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE); break;
        case 1: code = MPI_Testany(count, requests, &index, &done, MPI_STATUS_IGNORE); break;
        case 2: code = MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE); break;
        case 3: code = MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE); break;
        case 4: code = MPI_Waitall(1, requests, MPI_STATUSES_IGNORE); break;
        default: code = MPI_Testall(1, requests, &done, MPI_STATUSES_IGNORE);
        }
    require(requests[0] == MPI_REQUEST_NULL, "a request that failed is gone");
}

/* Messages longer than their buffers; then sends, perhaps with the handles of those requests, whose statuses hold
 * garbage that MPI may leave. The last receive of each round succeeds and must be tracked nevertheless. */
static void failed(void)
{
    static char out[LONG], in[LONG];
    int good[5], shorter;
    MPI_Request requests[2], sends[LATER];
    MPI_Status statuses[LATER];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int way = 0; way < FAILING; way++) {
        MPI_Irecv(&shorter, 1, MPI_INT, other, 8, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(good, 5, MPI_INT, other, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Send(out, 10, MPI_INT, other, 8, MPI_COMM_WORLD);
        end_failing(way, 2, requests);
        for (int i = 0; i < LATER; i++)
            MPI_Issend(out, LONG, MPI_CHAR, other, 20 + i, MPI_COMM_WORLD, &sends[i]);
        for (int i = 0; i < LATER; i++)
            MPI_Recv(in, LONG, MPI_CHAR, other, 20 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memset(statuses, 0x55, sizeof statuses);
        MPI_Waitall(LATER, sends, statuses);
        MPI_Send(out, 5, MPI_INT, other, 9, MPI_COMM_WORLD);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    expect("sent_bytes", "MPI_Issend", (unsigned long long)FAILING * LATER * LONG);
}

/* Receives before and after, perhaps with the same handle: nothing of what they leave in MPI's memory may be counted
 * for combined requests. OpenMPI reports the received bytes, MPICH does not. */
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

/* A request that is known to be complete may be freed without waiting. */
static void looked_at(void)
{
    int out[5] = { 0 }, in[10], done, count;
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < LOOKED; i++) {
        MPI_Irecv(in, 10, MPI_INT, other, 10, MPI_COMM_WORLD, &request);
        MPI_Send(out, 5, MPI_INT, other, 10, MPI_COMM_WORLD);
        for (done = 0; !done;)
            MPI_Request_get_status(request, &done, i % 2 ? MPI_STATUS_IGNORE : &status);
        MPI_Get_count(&status, MPI_INT, &count);
        require(count == 5, "the status of a request that is kept");
        if (i < LOOKED / 2)
            MPI_Request_free(&request);
        else
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
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
    failed();
    both();
    looked_at();
    return expect_end();
}
