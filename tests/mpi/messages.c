/* Point-to-point messages in all the ways of the standard. Two ranks: the even one sends. */
#include "expect.h"

#include <string.h>

enum { ITEM = sizeof(int) };

static int other;
static unsigned long long messages, bytes; /* sent by this rank */

static void note_sent(unsigned long long of)
{
    messages++;
    bytes += of;
}

static int sends(void)
{
    return rank == 0;
}

/* The buffer is larger than the message; an explicit status works too. */
static void shorter_than_asked(void)
{
    int buffer[100] = { 0 };
    MPI_Status status;
    int count;
    if (sends()) {
        MPI_Send(buffer, 7, MPI_INT, other, 0, MPI_COMM_WORLD);
        MPI_Ssend(buffer, 3, MPI_INT, other, 0, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD);
        MPI_Send(buffer, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        note_sent(7 * ITEM), note_sent(3 * ITEM), note_sent(0);
        expect("sent_bytes", "MPI_Send", 7 * ITEM);
        expect("small_messages", "MPI_Send", 2);
        expect("sent_bytes", "MPI_Ssend", 3 * ITEM);
        expect_calls("MPI_Send", 3);
        return;
    }
    MPI_Recv(buffer, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, 100, MPI_INT, other, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    require(count == 3 && status.MPI_SOURCE == other, "the status");
    MPI_Recv(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, 100, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    require(status.MPI_SOURCE == MPI_PROC_NULL, "from nobody");
    expect("received_bytes", "MPI_Recv", 10 * ITEM);
}

/* A message that is too long is an error, which the program asks to be returned. */
static void too_long(void)
{
    int buffer[10] = { 0 }, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH applies its error handler to MPI_Wait */
    if (sends()) {
        MPI_Rsend(buffer, 0, MPI_INT, MPI_PROC_NULL, 0, comm);
        MPI_Bsend_init(buffer, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &(MPI_Request){ MPI_REQUEST_NULL });
        MPI_Sendrecv(buffer, 10, MPI_INT, other, 1, NULL, 0, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE);
        note_sent(10 * ITEM);
    } else {
        MPI_Request request;
        MPI_Irecv(buffer, 2, MPI_INT, other, 1, comm, &request);
        int class, code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
        require(class == MPI_ERR_TRUNCATE, "it was truncated");
        require(MPI_Send(buffer, 1, MPI_INT, 77, 0, comm) != MPI_SUCCESS, "there is no rank 77");
        require(MPI_Send(buffer, 1, MPI_DATATYPE_NULL, 0, 0, comm) != MPI_SUCCESS, "no type");
        expect_calls("MPI_Send", 2);
        expect("sent_bytes", "MPI_Send", 0);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

static MPI_Datatype every_other(int count)
{
    MPI_Datatype type;
    MPI_Type_vector(count, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Types with gaps, empty, at absolute addresses; freed and created again with the same size, perhaps with the same
 * handle. */
static void odd_types(void)
{
    int buffer[64] = { 0 }, lengths[2] = { 1, 2 };
    MPI_Datatype nothing, absolute;
    MPI_Aint places[2];
    MPI_Request request;
    unsigned long long sent = 0;
    for (int i = 1; i <= 20; i++) {
        MPI_Datatype type = every_other(i);
        if (sends()) {
            MPI_Isend(buffer, 1, type, other, 2, MPI_COMM_WORLD, &request);
            note_sent((unsigned long long)i * ITEM), sent += (unsigned long long)i * ITEM;
        } else {
            MPI_Irecv(buffer, 1, type, other, 2, MPI_COMM_WORLD, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
    }
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Get_address(&buffer[3], &places[0]);
    MPI_Get_address(&buffer[9], &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    buffer[3] = sends() ? 33 : 0;
    if (sends()) {
        MPI_Rsend(buffer, 0, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
        MPI_Isend(buffer, 1000000, nothing, other, 3, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isend(MPI_BOTTOM, 1, absolute, other, 3, MPI_COMM_WORLD, &request);
        note_sent(0), note_sent(3 * ITEM), sent += 3 * ITEM;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect("sent_bytes", "MPI_Isend", sent);
    } else {
        MPI_Mrecv(buffer, 0, MPI_INT, &(MPI_Message){ MPI_MESSAGE_NO_PROC }, MPI_STATUS_IGNORE);
        MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, buffer, 1000000, nothing, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_BOTTOM, 1, absolute, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(buffer[3] == 33, "at the bottom");
        expect("received_bytes", "MPI_Irecv", 20 * 21 / 2 * ITEM); /* and nothing of the message that was too long */
        expect("received_bytes", "MPI_Sendrecv", 3 * ITEM);
    }
    MPI_Type_free(&nothing);
    MPI_Type_free(&absolute);
}

/* Matched probes. */
static void looked_at_first(void)
{
    char text[32] = "";
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    if (sends()) {
        MPI_Bsend(NULL, 0, MPI_CHAR, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
        MPI_Issend("matched", 7, MPI_CHAR, other, 4, MPI_COMM_WORLD, &request);
        note_sent(7);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Issend("again", 5, MPI_CHAR, other, 4, MPI_COMM_WORLD, &request);
        note_sent(5);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect("sent_bytes", "MPI_Issend", 12);
        return;
    }
    MPI_Mprobe(other, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(text, sizeof text, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    require(memcmp(text, "matched", 7) == 0, "a matched message");
    MPI_Mprobe(other, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(text, sizeof text, MPI_CHAR, &message, &request);
    MPI_Wait(&request, &status);
    expect("received_bytes", "MPI_Mrecv", 7);
    expect("received_bytes", "MPI_Imrecv", 5);
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    require(size == 2, "two ranks");
    other = 1 - rank;
    shorter_than_asked();
    too_long();
    odd_types();
    looked_at_first();
    if (sends())
        expect_peer(other, messages, bytes);
    return expect_end();
}
