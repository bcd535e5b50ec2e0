/* Steps that are not performance critical. */
#include "probe/mpi/steps.h"

#include "probe/mpi/world.h"

void step_put(struct mpi_call *call, int target, MPI_Win win, int64_t count, MPI_Datatype datatype)
{
    if (target == MPI_PROC_NULL)
        return;
    call->out += handles_bytes(call, count, datatype);
    call->peer = handles_world_rank_of_window(win, target);
    call->messages = 1;
}

/* With MPI_NO_OP the origin arguments are not significant. */
void step_put_unless(struct mpi_call *call, MPI_Op op, int target, MPI_Win win, int64_t count, MPI_Datatype datatype)
{
    if (op != MPI_NO_OP)
        step_put(call, target, win, count, datatype);
}

void step_fetched(struct mpi_call *call, int target, int64_t count, MPI_Datatype datatype)
{
    if (target != MPI_PROC_NULL)
        call->in += handles_bytes(call, count, datatype);
}

void step_posted_read(struct mpi_call *call, const MPI_Request *request)
{
    call->posted_kind = REQUEST_READ;
    call->request = *request;
}

void step_posted_write(struct mpi_call *call, const MPI_Request *request)
{
    call->posted_kind = REQUEST_WRITE;
    call->request = *request;
}

void step_persists(struct mpi_call *call, int code, const MPI_Request *request)
{
    if (code == MPI_SUCCESS)
        requests_add_persistent(*request, &(struct persistent){
            .function = call->function,
            .receives = call->posted_kind == REQUEST_IN,
            .peer = call->peer,
            .messages = call->messages,
            .out = call->out,
            .in = call->in,
        });
    call->out = call->in = 0;
    call->messages = 0;
    call->posted_kind = 0;
}

void step_started(struct mpi_call *call, int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        uint32_t token = requests_take(requests[i]);
        struct request request = requests_read(token);
        if (token && request.persistent)
            call_add_persistent(call, request.persistent);
    }
}

static bool is_spawned(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    return real.MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

/* A spawned process has a world of its own, whose ranks must not be confused with those of the program that spawned
 * it. */
static void set_rank(bool spawned)
{
    wait_calibrate();
    peers_begin(handles_world_size);
    if (handles_own_rank < 0)
        return;
    struct world world = world_find(spawned);
    segment_set_world(&call_segment, world.program, world.number);
    segment_set_rank(&call_segment, handles_own_rank, handles_world_size);
}

/* Queried, because MPI_Init may also provide MPI_THREAD_MULTIPLE (OMPI_MPI_THREAD_LEVEL=3). If unknown, assume
 * several threads. */
static bool has_many_threads(void)
{
    int threads = MPI_THREAD_MULTIPLE;
    return real.MPI_Query_thread(&threads) != MPI_SUCCESS || threads == MPI_THREAD_MULTIPLE;
}

void step_init(struct mpi_call *call)
{
    call_mpi_started(call->begin);
    if (has_many_threads()) {
        requests_enable_threads();
        call_count_threads();
    }
    handles_begin();
    set_rank(is_spawned());
}

#if MPI_VERSION >= 4
void step_init_session(struct mpi_call *call, MPI_Session session, MPI_Info info)
{
    (void)info;
    call_mpi_started(call->begin);
    requests_enable_threads();
    call_count_threads();
    handles_begin_session(session);
    set_rank(false);
}
#endif

void step_finalize(struct mpi_call *call)
{
    (void)call;
    handles_end();
    call_mpi_finalized();
}

#if MPI_VERSION >= 4
void step_forget_session(struct mpi_call *call, const MPI_Session *session)
{
    (void)call;
    if (session)
        handles_end_session(*session);
}
#endif

void step_forget_type(struct mpi_call *call, const MPI_Datatype *type)
{
    (void)call;
    if (type)
        handles_forget_type(*type);
}

void step_forget_communicator(struct mpi_call *call, const MPI_Comm *comm)
{
    (void)call;
    (void)comm;
    handles_forget_groups();
}

void step_forget_window(struct mpi_call *call, const MPI_Win *win)
{
    (void)call;
    (void)win;
    handles_forget_groups();
}

void step_forget_request(struct mpi_call *call, const MPI_Request *request)
{
    (void)call;
    if (request)
        requests_forget(*request);
}
