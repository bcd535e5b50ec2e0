/* Tracks requests whose completion matters: receives, file reads and writes (only then is the number of bytes
 * known), and persistent requests (each start counts). Sends are not tracked: all is known when they start. Bounded;
 * a request that does not fit is counted in mpi_requests_lost_total. Shared by all threads. */
#ifndef SONDE_PROBE_MPI_REQUESTS_H
#define SONDE_PROBE_MPI_REQUESTS_H

#include "probe/mpi/call.h"

enum request_kind { REQUEST_IN = 1, REQUEST_PERSISTENT, REQUEST_READ, REQUEST_WRITE };

/* What each start of a persistent request implies. */
struct persistent {
    uint32_t function; /* that created it */
    bool used, receives;
    int32_t peer;
    uint32_t messages;
    uint64_t out, in;
};

struct request {
    enum request_kind kind;
    uint32_t function;                   /* that posted it and is credited with the bytes */
    const struct persistent *persistent; /* NULL: none */
};

/* Threads may post concurrently from now on. */
void requests_enable_threads(void);

void requests_add(MPI_Request handle, enum request_kind kind, uint32_t function);
void requests_add_persistent(MPI_Request handle, const struct persistent *persistent);

/* Looks up a request and removes it from the table unless it is persistent. Returns its token; 0: not tracked. With
 * several threads, call this before the call that may complete the request: afterwards the handle may have been
 * reused. */
uint32_t requests_take(MPI_Request handle);

/* The request is still pending: puts it back. */
void requests_restore(MPI_Request handle, uint32_t token);

struct request requests_read(uint32_t token);

/* Is it a non-persistent receive, as nearly all are? Sets its function. */
enum { REQUEST_KIND_BITS = 3 };
CALL_INLINE bool requests_is_receive(uint32_t token, uint32_t *function)
{
    *function = token >> REQUEST_KIND_BITS;
    return (token & ((1u << REQUEST_KIND_BITS) - 1)) == REQUEST_IN;
}

void requests_forget(MPI_Request handle);

#endif
