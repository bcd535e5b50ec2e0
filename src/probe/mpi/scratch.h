/* Room for what a call with many requests must remember while it runs. A few pieces that grow and are used again and again; no
 * malloc, and nothing of a thread's own that would have to be freed with it. */
#ifndef SONDE_PROBE_MPI_SCRATCH_H
#define SONDE_PROBE_MPI_SCRATCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
    size_t bytes, room; /* mapped; requests that fit */
    MPI_Request *requests;
    MPI_Status *statuses;
    uint16_t *notes;
};

/* NULL: no memory. */
struct scratch *scratch_get(int count);
void scratch_put(struct scratch *scratch);

#endif
