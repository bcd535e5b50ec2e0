/* Waits and tests: which requests have ended, and how much came with them. The bytes belong to the functions that posted the
 * requests. Words of rules.txt. */
#ifndef SONDE_PROBE_MPI_COMPLETIONS_H
#define SONDE_PROBE_MPI_COMPLETIONS_H

#include "probe/mpi/call.h"
#include "probe/mpi/scratch.h"

/* Really received or written. */
CALL_INLINE uint64_t completions_bytes(const MPI_Status *status)
{
#ifdef OPEN_MPI
    return status->_ucount;
#else
    return (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 | (uint32_t)status->count_lo;
#endif
}

/* Only of a request for a message: functions of files leave this part of a status as it was. */
static inline bool completions_is_cancelled(const MPI_Status *status)
{
#ifdef OPEN_MPI
    return status->_cancelled;
#else
    return status->count_hi_and_cancelled & 1;
#endif
}

/* flag, index, done: as MPI gave them back; flag is NULL where there is none. */
void keep(struct call *call, const MPI_Request *request);
void done(struct call *call, int code, const MPI_Request *request, const int *flag, const MPI_Status *status);

/* A request that is left as it is, and may be freed without being waited for; what came is not counted once more if it is not. */
void seen(struct call *call, int code, MPI_Request request, const int *flag, const MPI_Status *status);

/* statuses as the caller gave them, NULL when the function has none; returns what to give to MPI. */
MPI_Status *keep_all(struct call *call, struct scratch_few *few, int count, const MPI_Request *requests, MPI_Status *statuses);
void done_all(struct call *call, int code, int count, const MPI_Request *requests, const int *flag, const MPI_Status *statuses);
void done_any(struct call *call, int code, int count, const MPI_Request *requests, const int *index, const int *flag,
              const MPI_Status *status);
void done_some(struct call *call, int code, int count, const MPI_Request *requests, const int *done, const int *indices,
               const MPI_Status *statuses);

#endif
