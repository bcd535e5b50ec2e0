/* Requests are looked up before the call where it may end them all, or where other threads might use their handles again as soon
 * as they have ended; else afterwards, those alone that have ended. */
#include "probe/mpi/completions.h"

#include "probe/mpi/requests.h"

static void completed(struct call *call, uint32_t note, const MPI_Status *status)
{
    uint32_t function;
    if (!note)
        return;
    if (CALL_MOSTLY(requests_is_receive(note, &function))) {
        if (!completions_is_cancelled(status))
            call_add_bytes(call, function, false, completions_bytes(status));
        return;
    }
    struct request request = requests_read(note);
    bool is_message = request.kind == REQUEST_PERSISTENT;
    if ((request.persistent && !request.persistent->receives) || (is_message && completions_is_cancelled(status)))
        return;
    call_add_bytes(call, request.function, request.kind == REQUEST_WRITE, completions_bytes(status));
}

void keep(struct call *call, const MPI_Request *request)
{
    call->kept = request ? *request : MPI_REQUEST_NULL;
    call->note = requests_take(call->kept);
}

void done(struct call *call, int code, const MPI_Request *request, const int *flag, const MPI_Status *status)
{
    if (!call->note)
        return;
    if (code == MPI_SUCCESS && (!flag || *flag))
        completed(call, call->note, status);
    else if (*request != MPI_REQUEST_NULL)
        requests_put_back(call->kept, call->note);
}

/* A persistent one is waited for before it is started again. */
void seen(struct call *call, int code, MPI_Request request, const int *flag, const MPI_Status *status)
{
    uint32_t note = code == MPI_SUCCESS && *flag ? requests_take(request) : 0;
    if (!requests_read(note).persistent)
        completed(call, note, status);
}

MPI_Status *keep_all(struct call *call, struct scratch_few *few, int count, const MPI_Request *requests, MPI_Status *statuses)
{
    if (count <= 0 || !requests)
        return statuses;
    uint32_t followed = 0;
    struct scratch *scratch = scratch_get(few, count);
    if (!scratch)
        return statuses;
    for (int i = 0; i < count; i++) {
        scratch->requests[i] = requests[i];
        scratch->notes[i] = requests_take(requests[i]);
        if (!scratch->notes[i])
            continue;
        scratch->statuses[i] = (MPI_Status){ 0 }; /* what MPI does not fill in, an earlier call has left there */
        followed++;
    }
    if (!followed) {
        scratch_put(scratch);
        return statuses;
    }
    call->scratch = scratch;
    return statuses == MPI_STATUSES_IGNORE ? scratch->statuses : statuses;
}

/* The others go on. */
static void put_back(struct call *call, int count)
{
    struct scratch *scratch = call->scratch;
    for (int i = 0; i < count; i++)
        requests_put_back(scratch->requests[i], scratch->notes[i]);
    scratch_put(scratch);
}

static void end_one(struct call *call, int i, const MPI_Status *status)
{
    if (status)
        completed(call, call->scratch->notes[i], status);
    call->scratch->notes[i] = 0;
}

/* MPI_ERR_IN_STATUS: each status tells of its own request; those that are not NULL now have not ended. */
void done_all(struct call *call, int code, int count, const MPI_Request *requests, const int *flag, const MPI_Status *statuses)
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

/* Which request failed is not sure from what the call gave back; but those that have gone must not be followed any longer. */
static void forget_gone(struct call *call, int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        if (requests[i] != call->scratch->requests[i])
            call->scratch->notes[i] = 0;
}

void done_any(struct call *call, int code, int count, const MPI_Request *requests, const int *index, const int *flag,
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

void done_some(struct call *call, int code, int count, const MPI_Request *requests, const int *done, const int *indices,
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
