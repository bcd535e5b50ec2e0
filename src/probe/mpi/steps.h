/* The words of rules.txt: what a call has sent, received, begun. Each gets the call and arguments of the function, and notes in
 * the call what call_add() then adds up. More of them: completions.h, collectives.h. */
#ifndef SONDE_PROBE_MPI_STEPS_H
#define SONDE_PROBE_MPI_STEPS_H

#include "probe/mpi/collectives.h"
#include "probe/mpi/completions.h"
#include "probe/mpi/handles.h"
#include "probe/mpi/requests.h"

/* count items to a rank of a communicator; MPI_PROC_NULL is nobody. */
static inline void sent(struct call *call, int dest, MPI_Comm comm, int64_t count, MPI_Datatype datatype)
{
    if (dest == MPI_PROC_NULL)
        return;
    call->out += handles_bytes(count, datatype);
    call->peer = handles_world_rank(comm, dest);
    call->messages = 1;
}

static inline MPI_Status *own(struct call *call, MPI_Status *status)
{
    return status == MPI_STATUS_IGNORE ? &call->own_status : status;
}

static inline void received(struct call *call, const MPI_Status *status)
{
    call->in += completions_bytes(status);
}

static inline void written(struct call *call, const MPI_Status *status)
{
    call->out += completions_bytes(status);
}

/* One-sided: to a rank of a window, and from it. */
void put(struct call *call, int target, MPI_Win win, int64_t count, MPI_Datatype datatype);
void put_unless(struct call *call, MPI_Op op, int target, MPI_Win win, int64_t count, MPI_Datatype datatype);
void got(struct call *call, int target, int64_t count, MPI_Datatype datatype);

/* A request that will end with a status that tells how many bytes came, or were written. */
void posted_in(struct call *call, const MPI_Request *request, int source);
void posted_out(struct call *call, const MPI_Request *request);

/* What the call has noted so far is not done, but will be at each start of the request. */
void persists(struct call *call, int code, const MPI_Request *request);
void started(struct call *call, int count, const MPI_Request *requests);

/* MPI has begun: which rank is this, and what may threads do? */
void began(struct call *call, int threads);
#if MPI_VERSION >= 4
void began_session(struct call *call, MPI_Session session, MPI_Info info);
#endif

void forget_type(struct call *call, const MPI_Datatype *type);
void forget_communicator(struct call *call, const MPI_Comm *comm);
void forget_window(struct call *call, const MPI_Win *win);
void forget_request(struct call *call, const MPI_Request *request);

#endif
