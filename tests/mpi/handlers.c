/* Callbacks of the program that call MPI: error handlers, one of which leaves by longjmp; operations; attributes.
 * Their calls are nested and do not count, but what they free and complete must no longer be tracked. One rank is
 * enough. */
#include "expect.h"

#include <setjmp.h>
#include <string.h>

enum { ENDING = 10, LONG = 100000, WAYS = 9 }; /* of ends_within */

static jmp_buf back;
static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    int any;
    (void)code;
    MPI_Comm_size(*comm, &any);
    handled++;
}

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(back, 1);
}

static int failing_send(MPI_Comm comm)
{
    return MPI_Send(NULL, 1, MPI_INT, 12345, 0, comm);
}

/* From a deep stack, so that it differs from the one before and afterwards. */
static int deep(int (*call)(MPI_Comm), MPI_Comm comm, int depth)
{
    volatile char room[512];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = (char)depth;
    return depth ? deep(call, comm, depth - 1) + room[0] * 0 : call(comm);
}

/* Everything the program does afterwards is below the call that never returned. */
static void jump_and_go_down(MPI_Comm comm)
{
    if (setjmp(back) == 0) {
        failing_send(comm);
        require(0, "not reached");
    }
    for (int i = 0; i < 5; i++)
        deep(MPI_Barrier, comm, 20);
    expect_calls("MPI_Barrier", 5);
}

static void errors(void)
{
    MPI_Errhandler handler, jumper;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_create_errhandler(jump, &jumper);
    MPI_Comm_set_errhandler(comm, handler);
    failing_send(comm);
    require(handled == 1, "the handler was called");
    MPI_Comm_set_errhandler(comm, jumper);
    if (setjmp(back) == 0) {
        deep(failing_send, comm, 20);
        require(0, "not reached");
    }
    jump_and_go_down(comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; i++)
        failing_send(comm); /* counted, although the previous call never returned */
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&jumper);
    MPI_Comm_free(&comm);
    expect_calls("MPI_Send", 8 + WAYS * ENDING); /* and those of ends_within */
    expect("sent_bytes", "MPI_Send", WAYS * ENDING * sizeof(int));
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int any;
    MPI_Type_size(*type, &any);
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void operations(void)
{
    MPI_Op op;
    int one = 1, sum = 2;
    MPI_Op_create(add, 1, &op);
    MPI_Reduce_local(&one, &sum, 1, MPI_INT, op);
    require(sum == 3, "an operation of our own");
    MPI_Op_free(&op);
    MPI_Type_size(MPI_INT, &one);
    expect_calls("MPI_Type_size", 1);
}

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)key, (void)extra;
    int any;
    MPI_Comm_rank(comm, &any);
    *(void **)out = in;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    int is_final;
    MPI_Finalized(&is_final); /* also from within MPI_Finalize */
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, found, value = 5, *got;
    MPI_Comm comm;
    MPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_get_attr(comm, key, &got, &found);
    require(found && *got == 5 && copied == 1, "an attribute is copied");
    MPI_Comm_free(&comm);
    require(deleted == 1, "and deleted");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &got, &found);
    require(found && *got >= 32767, "an attribute of MPI's own");
    expect_calls("MPI_Comm_rank", 1); /* of expect_begin */
}

/* Requests that complete in a nested call. */

static MPI_Request ending[ENDING];
static MPI_Datatype ending_type;
static int way;

static void end_requests(void)
{
    int index, done, indices[ENDING];
    MPI_Status statuses[ENDING];
    switch (way) {
    case 0: MPI_Wait(&ending[0], MPI_STATUS_IGNORE); break;
    case 1: MPI_Test(&ending[0], &done, MPI_STATUS_IGNORE); break;
    case 2: MPI_Waitany(1, ending, &index, MPI_STATUS_IGNORE); break;
    case 3: MPI_Testany(1, ending, &index, &done, MPI_STATUS_IGNORE); break;
    case 4: MPI_Waitsome(1, ending, &done, indices, MPI_STATUSES_IGNORE); break;
    case 5: MPI_Testsome(1, ending, &done, indices, MPI_STATUSES_IGNORE); break;
    case 6: MPI_Testall(1, ending, &done, MPI_STATUSES_IGNORE); break;
    case 7: MPI_Waitall(1, ending, statuses); break;
    default: MPI_Request_free(&ending[0]);
    }
    MPI_Waitall(ENDING, ending, MPI_STATUSES_IGNORE);
}

static int end_all(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    MPI_Type_free(&ending_type);
    end_requests();
    return MPI_SUCCESS;
}

static void within_another(int key)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm_free(&comm);
}

/* Perhaps with the handles that were freed, on a stack and in memory full of garbage. */
static void send_long(void)
{
    static char out[LONG], in[LONG];
    MPI_Request requests[ENDING];
    memset(requests, 0x55, sizeof requests);
    for (int i = 0; i < ENDING; i++)
        MPI_Issend(out, LONG, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < ENDING; i++)
        MPI_Recv(in, LONG, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitall(ENDING, requests, MPI_STATUSES_IGNORE);
}

static void send_type(int items)
{
    static int out[64], in[64];
    MPI_Type_contiguous(items, MPI_INT, &ending_type);
    MPI_Type_commit(&ending_type);
    MPI_Sendrecv(out, 1, ending_type, 0, 1, in, 64, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The message of the freed request may arrive later, and is not counted. */
static void ends_within(void)
{
    static int out[ENDING], in[ENDING];
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_all, &key, NULL);
    for (way = 0; way < WAYS; way++) {
        for (int i = 0; i < ENDING; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, 0, 100 + i, MPI_COMM_WORLD, &ending[i]);
        for (int i = 0; i < ENDING; i++)
            MPI_Send(&out[i], 1, MPI_INT, 0, 100 + i, MPI_COMM_WORLD);
        send_type(way + 1); /* of a different size each time, perhaps with the handle of the previous one */
        within_another(key);
        send_long();
    }
    MPI_Comm_free_keyval(&key);
    expect("received_bytes", "MPI_Irecv", (WAYS * ENDING - 1) * sizeof(int));
    expect("sent_bytes", "MPI_Issend", (unsigned long long)WAYS * ENDING * LONG);
    expect_bytes("MPI_Sendrecv", WAYS * (WAYS + 1) / 2 * sizeof(int), WAYS * (WAYS + 1) / 2 * sizeof(int));
    expect_calls("MPI_Wait", WAYS); /* of send_long: no nested ones */
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    errors();
    operations();
    attributes();
    ends_within();
    return expect_end();
}
