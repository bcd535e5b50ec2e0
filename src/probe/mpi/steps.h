/* The steps of rules.txt: what a call has sent, received or started. Each gets the call and arguments of the MPI
 * function, and stores the result in the call; steps_finish adds it to the metrics. More steps: completions.h,
 * collectives.h. */
#ifndef SONDE_PROBE_MPI_STEPS_H
#define SONDE_PROBE_MPI_STEPS_H

#include "probe/mpi/collectives.h"
#include "probe/mpi/completions.h"
#include "probe/mpi/handles.h"
#include "probe/mpi/peers.h"
#include "probe/mpi/requests.h"
#include "probe/mpi/wait.h"

/* Did no step set it? If the compiler knows, not even 0 is added. */
#define IS_NEVER(bytes) (__builtin_constant_p(bytes) && (bytes) == 0)

/* Adds the bytes that the steps have stored. The mask is a constant, so that little of this remains. */
CALL_INLINE void add_bytes(struct mpi_call *call, uint32_t has)
{
    if (has & HAS_OUT && !IS_NEVER(call->out))
        segment_add_u64(call->slots + CALL_PLACE(has, METRIC_OUT), call->out);
    if (has & HAS_IN && !IS_NEVER(call->in))
        segment_add_u64(call->slots + CALL_PLACE(has, METRIC_IN), call->in);
    if (has & HAS_SMALL && CALL_MOSTLY(call->messages)) {
        if (call->out < CALL_SMALL_BYTES)
            segment_add_u64(call->slots + CALL_PLACE(has, METRIC_SMALL), 1);
        peers_add(call, call->peer, call->out);
    }
}

/* For functions that may wait for other ranks. */
CALL_INLINE struct wait_kind kind_of(const struct mpi_call *call, uint32_t has)
{
    if (!(has & HAS_WAIT))
        return (struct wait_kind){ 0 };
    return wait_find(call->function, call->out + call->in + call->completed_bytes, call->ranks);
}

CALL_INLINE void add_wait(struct mpi_call *call, uint32_t has, const struct wait_kind *kind)
{
    if (has & HAS_WAIT)
        segment_add_u64(call->slots + CALL_PLACE(has, METRIC_WAIT), wait_ticks(call->function, kind, call->ticks));
}

/* The end of a call whose steps take no time: they run before the time stamp is read, which waits for all preceding
 * instructions and so costs the same with and without them. */
CALL_INLINE void steps_finish_quick(struct mpi_call *call, uint32_t has)
{
    add_bytes(call, has);
    struct wait_kind kind = kind_of(call, has);
    call_time(call);
    add_wait(call, has, &kind);
    call_leave(call);
}

/* The end of a call whose steps ran after the time stamp. */
CALL_INLINE void steps_finish(struct mpi_call *call, uint32_t has)
{
    add_bytes(call, has);
    struct wait_kind kind = kind_of(call, has);
    add_wait(call, has, &kind);
    if (call->posted_kind)
        requests_add(call->request, call->posted_kind, call->function);
    call_leave(call);
}

/* `count` items to a rank of a communicator; nothing to MPI_PROC_NULL. */
CALL_INLINE void step_sent(struct mpi_call *call, int dest, MPI_Comm comm, int64_t count, MPI_Datatype datatype)
{
    if (CALL_RARELY(dest == MPI_PROC_NULL))
        return;
    call->out += handles_bytes(call, count, datatype);
    call->peer = handles_world_rank(call, comm, dest);
    call->messages = 1;
}

CALL_INLINE MPI_Status *step_need_status(MPI_Status *mine, MPI_Status *status)
{
    return status == MPI_STATUS_IGNORE ? mine : status;
}

CALL_INLINE void step_received(struct mpi_call *call, const MPI_Status *status)
{
    call->in += completions_bytes(status);
}

CALL_INLINE void step_written(struct mpi_call *call, const MPI_Status *status)
{
    call->out += completions_bytes(status);
}

/* One-sided: to a rank of a window, and from it. */
void step_put(struct mpi_call *call, int target, MPI_Win win, int64_t count, MPI_Datatype datatype);
void step_put_unless(struct mpi_call *call, MPI_Op op, int target, MPI_Win win, int64_t count, MPI_Datatype datatype);
void step_fetched(struct mpi_call *call, int target, int64_t count, MPI_Datatype datatype);

/* A request whose status will tell how many bytes were received or written. */
CALL_INLINE void step_posted(struct mpi_call *call, const MPI_Request *request, int source)
{
    if (source == MPI_PROC_NULL) /* nothing is received; and MPICH returns the same request for all of them */
        return;
    call->posted_kind = REQUEST_IN;
    call->request = *request;
}

/* A send and a receive in one request. MPICH leaves garbage in its status, so that the received bytes are unknown. */
#ifdef OPEN_MPI
#define HAS_IN_OF_BOTH HAS_IN
#else
#define HAS_IN_OF_BOTH 0
#endif
CALL_INLINE void step_posted_both(struct mpi_call *call, const MPI_Request *request, int source)
{
    if (HAS_IN_OF_BOTH)
        step_posted(call, request, source);
}

void step_posted_read(struct mpi_call *call, const MPI_Request *request);
void step_posted_write(struct mpi_call *call, const MPI_Request *request);

/* What the call has stored so far happens at each start of the request instead. */
void step_persists(struct mpi_call *call, int code, const MPI_Request *request);
void step_started(struct mpi_call *call, int count, const MPI_Request *requests);

/* MPI is initialised: find out rank, world and thread level. */
void step_init(struct mpi_call *call);
#if MPI_VERSION >= 4
void step_init_session(struct mpi_call *call, MPI_Session session, MPI_Info info);
void step_forget_session(struct mpi_call *call, const MPI_Session *session);
#endif

/* MPI is finalised: record the time since its initialisation. */
void step_finalize(struct mpi_call *call);

/* Number of ranks that take part, for estimating the waiting time. */
CALL_INLINE void step_collective(struct mpi_call *call, MPI_Comm comm)
{
    call->ranks = (uint32_t)handles_group(call, comm).peers;
}

void step_forget_type(struct mpi_call *call, const MPI_Datatype *type);
void step_forget_communicator(struct mpi_call *call, const MPI_Comm *comm);
void step_forget_window(struct mpi_call *call, const MPI_Win *win);
void step_forget_request(struct mpi_call *call, const MPI_Request *request);

#endif
