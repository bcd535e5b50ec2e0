/* The words of rules.txt: what a call has sent, received, begun. Each gets the call and arguments of the function, and notes in
 * the call what is then added up. More of them: completions.h, collectives.h. */
#ifndef SONDE_PROBE_MPI_STEPS_H
#define SONDE_PROBE_MPI_STEPS_H

#include "probe/mpi/collectives.h"
#include "probe/mpi/completions.h"
#include "probe/mpi/handles.h"
#include "probe/mpi/peers.h"
#include "probe/mpi/requests.h"
#include "probe/mpi/wait.h"

/* Did no step note any? Where the compiler knows it, not even 0 is added. */
#define IS_NEVER(bytes) (__builtin_constant_p(bytes) && (bytes) == 0)

/* Adds the bytes that the steps have noted to the slots. The mask is a constant, so that little of this is left. */
CALL_INLINE void add_bytes(struct call *call, uint32_t has)
{
    if (has & HAS_OUT && !IS_NEVER(call->out))
        board_add_u64(call->slots + CALL_PLACE(has, METRIC_OUT), call->out);
    if (has & HAS_IN && !IS_NEVER(call->in))
        board_add_u64(call->slots + CALL_PLACE(has, METRIC_IN), call->in);
    if (has & HAS_SMALL && CALL_MOSTLY(call->messages)) {
        if (call->out < CALL_SMALL_BYTES)
            board_add_u64(call->slots + CALL_PLACE(has, METRIC_SMALL), 1);
        peers_add(call, call->peer, call->out);
    }
}

/* Of a function that may wait for others. */
CALL_INLINE struct wait_kind kind_of(const struct call *call, uint32_t has)
{
    if (!(has & HAS_WAIT))
        return (struct wait_kind){ 0 };
    return wait_find(call->function, call->out + call->in + call->arrived, call->ranks);
}

CALL_INLINE void add_wait(struct call *call, uint32_t has, const struct wait_kind *kind)
{
    if (has & HAS_WAIT)
        board_add_u64(call->slots + CALL_PLACE(has, METRIC_WAIT), wait_ticks(call->function, kind, call->ticks));
}

/* The end of a call with steps that take no time: they come before the clock is read, since reading it waits for all that was
 * begun, and so costs the same with and without them. */
CALL_INLINE void end_quickly(struct call *call, uint32_t has)
{
    add_bytes(call, has);
    struct wait_kind kind = kind_of(call, has);
    call_time(call);
    add_wait(call, has, &kind);
    call_leave(call);
}

/* The end of one whose steps came after the clock. */
CALL_INLINE void end(struct call *call, uint32_t has)
{
    add_bytes(call, has);
    struct wait_kind kind = kind_of(call, has);
    add_wait(call, has, &kind);
    if (call->posted)
        requests_add(call->kept, call->posted, call->function);
    call_leave(call);
}

/* count items to a rank of a communicator; MPI_PROC_NULL is nobody. */
CALL_INLINE void sent(struct call *call, int dest, MPI_Comm comm, int64_t count, MPI_Datatype datatype)
{
    if (CALL_RARELY(dest == MPI_PROC_NULL))
        return;
    call->out += handles_bytes(call, count, datatype);
    call->peer = handles_world_rank(call, comm, dest);
    call->messages = 1;
}

CALL_INLINE MPI_Status *own(MPI_Status *mine, MPI_Status *status)
{
    return status == MPI_STATUS_IGNORE ? mine : status;
}

CALL_INLINE void received(struct call *call, const MPI_Status *status)
{
    call->in += completions_bytes(status);
}

CALL_INLINE void written(struct call *call, const MPI_Status *status)
{
    call->out += completions_bytes(status);
}

/* One-sided: to a rank of a window, and from it. */
void put(struct call *call, int target, MPI_Win win, int64_t count, MPI_Datatype datatype);
void put_unless(struct call *call, MPI_Op op, int target, MPI_Win win, int64_t count, MPI_Datatype datatype);
void got(struct call *call, int target, int64_t count, MPI_Datatype datatype);

/* A request that will end with a status that tells how many bytes came, or were written. */
CALL_INLINE void posted(struct call *call, const MPI_Request *request, int source)
{
    if (source == MPI_PROC_NULL) /* from nobody nothing comes; and MPICH answers with one request for all such */
        return;
    call->posted = REQUEST_IN;
    call->kept = *request;
}

/* A send and a receive in one request. MPICH gives it the status that its memory had before, so that nobody knows what came. */
#ifdef OPEN_MPI
#define HAS_IN_OF_BOTH HAS_IN
#else
#define HAS_IN_OF_BOTH 0
#endif
CALL_INLINE void posted_both(struct call *call, const MPI_Request *request, int source)
{
    if (HAS_IN_OF_BOTH)
        posted(call, request, source);
}

void posted_read(struct call *call, const MPI_Request *request);
void posted_write(struct call *call, const MPI_Request *request);

/* What the call has noted so far is not done, but will be at each start of the request. */
void persists(struct call *call, int code, const MPI_Request *request);
void started(struct call *call, int count, const MPI_Request *requests);

/* MPI has begun: which rank is this, and what may threads do? */
void began(struct call *call);
#if MPI_VERSION >= 4
void began_session(struct call *call, MPI_Session session, MPI_Info info);
void forget_session(struct call *call, const MPI_Session *session);
#endif

/* MPI has ended: the time since it began is its life. */
void ended(struct call *call);

/* What takes part in it, for its waiting. */
CALL_INLINE void together(struct call *call, MPI_Comm comm)
{
    call->ranks = (uint32_t)handles_group(call, comm).others;
}

void forget_type(struct call *call, const MPI_Datatype *type);
void forget_communicator(struct call *call, const MPI_Comm *comm);
void forget_window(struct call *call, const MPI_Win *win);
void forget_request(struct call *call, const MPI_Request *request);

#endif
