/* Functions of the program that MPI calls, and that call MPI: error handlers, one of which jumps out; operations; attributes.
 * What they call is within another call and does not count. One rank is enough. */
#include "expect.h"

#include <setjmp.h>

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

/* From deep below, so that the stack is another one than afterwards. */
static int deep(MPI_Comm comm, int depth)
{
    volatile char room[512];
    room[0] = (char)depth;
    return depth ? deep(comm, depth - 1) + room[0] * 0 : failing_send(comm);
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
        deep(comm, 20);
        require(0, "not reached");
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; i++)
        failing_send(comm); /* counted, although the call before never returned */
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&jumper);
    MPI_Comm_free(&comm);
    expect_calls("MPI_Send", 7);
    expect("sent_bytes", "MPI_Send", 0);
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

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    errors();
    operations();
    attributes();
    return expect_end();
}
