/* Waits and tests: which requests completed, and how many bytes they received. The bytes count for the functions
 * that posted the requests. Steps of rules.txt. */
#ifndef SONDE_PROBE_MPI_COMPLETIONS_H
#define SONDE_PROBE_MPI_COMPLETIONS_H

#include "probe/mpi/call.h"
#include "probe/mpi/scratch.h"

/* Actually received or written. */
CALL_INLINE uint64_t completions_bytes(const MPI_Status *status)
{
#ifdef OPEN_MPI
    return status->_ucount;
#else
    return (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 | (uint32_t)status->count_lo;
#endif
}

/* Only for message requests: functions on files leave this field as it was. */
static inline bool completions_is_cancelled(const MPI_Status *status)
{
#ifdef OPEN_MPI
    return status->_cancelled;
#else
    return status->count_hi_and_cancelled & 1;
#endif
}

/* flag, index, done: as returned by MPI; flag is NULL where there is none. */
void step_take(struct mpi_call *call, const MPI_Request *request);
void step_done(struct mpi_call *call, int code, const MPI_Request *request, const int *flag, const MPI_Status *status);

/* MPI_Request_get_status: the request remains and may be freed without a wait. Its bytes are not counted again by a
 * later wait. */
void step_tested(struct mpi_call *call, int code, MPI_Request request, const int *flag, const MPI_Status *status);

/* statuses: as passed by the caller, NULL if the function has none; returns what to pass to MPI. */
MPI_Status *step_take_all(struct mpi_call *call, struct scratch_small *small, int count, const MPI_Request *requests,
                          MPI_Status *statuses);
void step_done_all(struct mpi_call *call, int code, int count, const MPI_Request *requests, const int *flag,
                   const MPI_Status *statuses);
void step_done_any(struct mpi_call *call, int code, int count, const MPI_Request *requests, const int *index,
                   const int *flag,
              const MPI_Status *status);
void step_done_some(struct mpi_call *call, int code, int count, const MPI_Request *requests, const int *done,
                    const int *indices,
               const MPI_Status *statuses);

#endif
