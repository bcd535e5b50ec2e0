/* The requests whose end has news: receives and reads and writes of files (how many bytes really came is known then), and
 * persistent ones (each start counts). Sends are not here: all is known when they begin. Bounded; a request that finds no
 * room is counted as lost, on the board as mpi_requests_lost_total. Shared by all threads. */
#ifndef SONDE_PROBE_MPI_REQUESTS_H
#define SONDE_PROBE_MPI_REQUESTS_H

#include "probe/mpi/call.h"

enum request_kind { REQUEST_IN = 1, REQUEST_PERSISTENT, REQUEST_READ, REQUEST_WRITE };

/* What each start of a persistent request means. */
struct persistent {
    uint32_t function; /* that made it */
    bool used, receives;
    int32_t peer;
    uint32_t messages;
    uint64_t out, in;
};

struct request {
    enum request_kind kind;
    uint32_t function;                   /* that posted it, whose bytes they are */
    const struct persistent *persistent; /* NULL: none */
};

/* Threads may post at the same time from now on. */
void requests_share(void);

void requests_add(MPI_Request handle, enum request_kind kind, uint32_t function);
void requests_add_persistent(MPI_Request handle, const struct persistent *persistent);

/* A note of a request, which is taken out of the table unless it is persistent; 0: it is not followed. To be done before the
 * call that may complete it where threads are many: afterwards the handle may be another one's. */
uint32_t requests_take(MPI_Request handle);

/* It has not ended. */
void requests_put_back(MPI_Request handle, uint32_t note);

struct request requests_read(uint32_t note);

/* A receive that is not persistent, as nearly all are: its function. */
enum { REQUEST_KIND_BITS = 3 };
CALL_INLINE bool requests_is_receive(uint32_t note, uint32_t *function)
{
    *function = note >> REQUEST_KIND_BITS;
    return (note & ((1u << REQUEST_KIND_BITS) - 1)) == REQUEST_IN;
}

void requests_forget(MPI_Request handle);

#endif
