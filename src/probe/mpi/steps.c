/* Steps that are not in a hurry. */
#include "probe/mpi/steps.h"

#include "probe/mpi/world.h"

void put(struct call *call, int target, MPI_Win win, int64_t count, MPI_Datatype datatype)
{
    if (target == MPI_PROC_NULL)
        return;
    call->out += handles_bytes(call, count, datatype);
    call->peer = handles_world_rank_of_window(win, target);
    call->messages = 1;
}

/* With MPI_NO_OP what stands in the origin's arguments means nothing. */
void put_unless(struct call *call, MPI_Op op, int target, MPI_Win win, int64_t count, MPI_Datatype datatype)
{
    if (op != MPI_NO_OP)
        put(call, target, win, count, datatype);
}

void got(struct call *call, int target, int64_t count, MPI_Datatype datatype)
{
    if (target != MPI_PROC_NULL)
        call->in += handles_bytes(call, count, datatype);
}

void posted_read(struct call *call, const MPI_Request *request)
{
    call->posted = REQUEST_READ;
    call->kept = *request;
}

void posted_write(struct call *call, const MPI_Request *request)
{
    call->posted = REQUEST_WRITE;
    call->kept = *request;
}

void persists(struct call *call, int code, const MPI_Request *request)
{
    if (code == MPI_SUCCESS)
        requests_add_persistent(*request, &(struct persistent){
            .function = call->function,
            .receives = call->posted == REQUEST_IN,
            .peer = call->peer,
            .messages = call->messages,
            .out = call->out,
            .in = call->in,
        });
    call->out = call->in = 0;
    call->messages = 0;
    call->posted = 0;
}

void started(struct call *call, int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        uint32_t note = requests_take(requests[i]);
        struct request request = requests_read(note);
        if (note && request.persistent)
            call_add_for(call, request.persistent);
    }
}

static bool is_spawned(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    return real.MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

/* One that was spawned has a world of its own, whose ranks must not be taken for those of the program that spawned it. */
static void tell_rank(bool spawned)
{
    wait_learn();
    peers_begin(handles_world_size);
    if (handles_own_rank < 0)
        return;
    struct world world = world_find(spawned);
    board_set_world(&call_board, world.program, world.number);
    board_set_rank(&call_board, handles_own_rank, handles_world_size);
}

/* Asked, not taken from what the program wanted: MPI_Init may give all of it too (OMPI_MPI_THREAD_LEVEL=3). Not known is many. */
static bool has_many_threads(void)
{
    int threads = MPI_THREAD_MULTIPLE;
    return real.MPI_Query_thread(&threads) != MPI_SUCCESS || threads == MPI_THREAD_MULTIPLE;
}

void began(struct call *call)
{
    call_begin_life(call->begin);
    if (has_many_threads()) {
        requests_share();
        call_share();
    }
    handles_begin();
    tell_rank(is_spawned());
}

#if MPI_VERSION >= 4
void began_session(struct call *call, MPI_Session session, MPI_Info info)
{
    (void)info;
    call_begin_life(call->begin);
    requests_share();
    call_share();
    handles_begin_session(session);
    tell_rank(false);
}
#endif

void ended(struct call *call)
{
    (void)call;
    handles_end();
    call_end_life();
}

#if MPI_VERSION >= 4
void forget_session(struct call *call, const MPI_Session *session)
{
    (void)call;
    if (session)
        handles_end_session(*session);
}
#endif

void forget_type(struct call *call, const MPI_Datatype *type)
{
    (void)call;
    if (type)
        handles_forget_type(*type);
}

void forget_communicator(struct call *call, const MPI_Comm *comm)
{
    (void)call;
    (void)comm;
    handles_forget_groups();
}

void forget_window(struct call *call, const MPI_Win *win)
{
    (void)call;
    (void)win;
    handles_forget_groups();
}

void forget_request(struct call *call, const MPI_Request *request)
{
    (void)call;
    if (request)
        requests_forget(*request);
}
