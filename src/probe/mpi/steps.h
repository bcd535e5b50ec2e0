/* The words of rules.txt: what a call has sent, received, begun. Each gets the call and arguments of the function, and notes in
 * the call what add() then adds up. More of them: completions.h, collectives.h. */
#ifndef SONDE_PROBE_MPI_STEPS_H
#define SONDE_PROBE_MPI_STEPS_H

#include "probe/mpi/collectives.h"
#include "probe/mpi/completions.h"
#include "probe/mpi/handles.h"
#include "probe/mpi/peers.h"
#include "probe/mpi/requests.h"
#include "probe/mpi/wait.h"

/* At the end: adds what the steps have noted to the slots. The mask is a constant, so that little of this is left. */
CALL_INLINE void add(struct call *call, uint32_t has)
{
    if (has & HAS_OUT && call->out)
        board_add_u64(call->slots + CALL_PLACE(has, METRIC_OUT), call->out);
    if (has & HAS_IN && call->in)
        board_add_u64(call->slots + CALL_PLACE(has, METRIC_IN), call->in);
    if (has & HAS_WAIT)
        board_add_u64(call->slots + CALL_PLACE(has, METRIC_WAIT),
                      wait_ticks(call->function, call->ticks, call->out + call->in + call->arrived, call->ranks));
    if (has & HAS_SMALL && call->messages) {
        if (call->out < CALL_SMALL_BYTES)
            board_add_u64(call->slots + CALL_PLACE(has, METRIC_SMALL), 1);
        peers_add(call->peer, call->out);
    }
    if (call->posted)
        requests_add(call->kept, call->posted, call->function);
}

/* count items to a rank of a communicator; MPI_PROC_NULL is nobody. */
CALL_INLINE void sent(struct call *call, int dest, MPI_Comm comm, int64_t count, MPI_Datatype datatype)
{
    if (dest == MPI_PROC_NULL)
        return;
    call->out += handles_bytes(count, datatype);
    call->peer = handles_world_rank(comm, dest);
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
void posted(struct call *call, const MPI_Request *request, int source);
void posted_read(struct call *call, const MPI_Request *request);
void posted_write(struct call *call, const MPI_Request *request);

/* What the call has noted so far is not done, but will be at each start of the request. */
void persists(struct call *call, int code, const MPI_Request *request);
void started(struct call *call, int count, const MPI_Request *requests);

/* MPI has begun: which rank is this, and what may threads do? */
void began(struct call *call, int threads);
#if MPI_VERSION >= 4
void began_session(struct call *call, MPI_Session session, MPI_Info info);
#endif

/* MPI has ended: the time since it began is its life. */
void ended(struct call *call);

void forget_type(struct call *call, const MPI_Datatype *type);
void forget_communicator(struct call *call, const MPI_Comm *comm);
void forget_window(struct call *call, const MPI_Win *win);
void forget_request(struct call *call, const MPI_Request *request);

#endif
