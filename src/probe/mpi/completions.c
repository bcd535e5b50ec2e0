/* Requests are looked up before the call if it may complete all of them, or if other threads might reuse their
 * handles as soon as they are complete; otherwise afterwards, only those that are complete. */
#include "probe/mpi/completions.h"

#include "probe/mpi/requests.h"

static void completed(struct mpi_call *call, uint32_t token, const MPI_Status *status)
{
    uint32_t function;
    if (!token)
        return;
    if (CALL_MOSTLY(requests_is_receive(token, &function))) {
        if (!completions_is_cancelled(status))
            call_add_bytes(call, function, false, completions_bytes(status));
        return;
    }
    struct request request = requests_read(token);
    bool is_message = request.kind == REQUEST_PERSISTENT;
    if ((request.persistent && !request.persistent->receives) || (is_message && completions_is_cancelled(status)))
        return;
    call_add_bytes(call, request.function, request.kind == REQUEST_WRITE, completions_bytes(status));
}

void step_take(struct mpi_call *call, const MPI_Request *request)
{
    call->request = request ? *request : MPI_REQUEST_NULL;
    call->token = requests_take(call->request);
}

void step_done(struct mpi_call *call, int code, const MPI_Request *request, const int *flag, const MPI_Status *status)
{
    if (!call->token)
        return;
    if (code == MPI_SUCCESS && (!flag || *flag))
        completed(call, call->token, status);
    else if (*request != MPI_REQUEST_NULL)
        requests_restore(call->request, call->token);
}

/* A persistent request is waited for before it is started again: it is counted then. */
void step_tested(struct mpi_call *call, int code, MPI_Request request, const int *flag, const MPI_Status *status)
{
    uint32_t token = code == MPI_SUCCESS && *flag ? requests_take(request) : 0;
    if (!requests_read(token).persistent)
        completed(call, token, status);
}

MPI_Status *step_take_all(struct mpi_call *call, struct scratch_small *small, int count, const MPI_Request *requests,
                          MPI_Status *statuses)
{
    if (count <= 0 || !requests)
        return statuses;
    uint32_t followed = 0;
    struct scratch *scratch = scratch_get(small, count);
    if (!scratch)
        return statuses;
    for (int i = 0; i < count; i++) {
        scratch->requests[i] = requests[i];
        scratch->tokens[i] = requests_take(requests[i]);
        if (!scratch->tokens[i])
            continue;
        scratch->statuses[i] = (MPI_Status){ 0 }; /* MPI may leave fields unset, with values of an earlier call */
        followed++;
    }
    if (!followed) {
        scratch_put(scratch);
        return statuses;
    }
    call->scratch = scratch;
    return statuses == MPI_STATUSES_IGNORE ? scratch->statuses : statuses;
}

/* The others are still pending. */
static void put_back(struct mpi_call *call, int count)
{
    struct scratch *scratch = call->scratch;
    for (int i = 0; i < count; i++)
        requests_restore(scratch->requests[i], scratch->tokens[i]);
    scratch_put(scratch);
}

static void end_one(struct mpi_call *call, int i, const MPI_Status *status)
{
    if (status)
        completed(call, call->scratch->tokens[i], status);
    call->scratch->tokens[i] = 0;
}

/* With MPI_ERR_IN_STATUS each status describes its own request; requests that are not MPI_REQUEST_NULL are still
 * pending. */
void step_done_all(struct mpi_call *call, int code, int count, const MPI_Request *requests, const int *flag,
                   const MPI_Status *statuses)
{
    if (!call->scratch)
        return;
    bool is_done = code == MPI_SUCCESS && (!flag || *flag);
    for (int i = 0; i < count; i++) {
        if (is_done)
            end_one(call, i, &statuses[i]);
        else if (code != MPI_SUCCESS && requests[i] != call->scratch->requests[i])
            end_one(call, i, code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR == MPI_SUCCESS ? &statuses[i] : NULL);
    }
    put_back(call, count);
}

/* The results do not tell reliably which request failed; but those that are gone must no longer be tracked. */
static void forget_gone(struct mpi_call *call, int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        if (requests[i] != call->scratch->requests[i])
            call->scratch->tokens[i] = 0;
}

void step_done_any(struct mpi_call *call, int code, int count, const MPI_Request *requests, const int *index,
                   const int *flag,
              const MPI_Status *status)
{
    if (!call->scratch)
        return;
    if (code != MPI_SUCCESS)
        forget_gone(call, count, requests);
    else if ((!flag || *flag) && *index != MPI_UNDEFINED && *index >= 0 && *index < count)
        end_one(call, *index, status);
    put_back(call, count);
}

void step_done_some(struct mpi_call *call, int code, int count, const MPI_Request *requests, const int *done,
                    const int *indices,
               const MPI_Status *statuses)
{
    if (!call->scratch)
        return;
    int ended = (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS) && *done != MPI_UNDEFINED ? *done : 0;
    for (int i = 0; i < ended; i++)
        end_one(call, indices[i], code == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_SUCCESS ? &statuses[i] : NULL);
    if (code != MPI_SUCCESS)
        forget_gone(call, count, requests);
    put_back(call, count);
}
