/* Room for what a call with many requests must remember while it runs. A few pieces that grow and are used again and again; no
 * malloc, and nothing of a thread's own that would have to be freed with it. */
#ifndef SONDE_PROBE_MPI_SCRATCH_H
#define SONDE_PROBE_MPI_SCRATCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
    size_t bytes, room; /* mapped, 0 on a stack; requests that fit */
    MPI_Request *requests;
    MPI_Status *statuses;
    uint32_t *notes;
};

/* Most calls have few. On the caller's stack. */
enum { SCRATCH_FEW = 16 };
struct scratch_few {
    struct scratch head;
    MPI_Request requests[SCRATCH_FEW];
    MPI_Status statuses[SCRATCH_FEW];
    uint32_t notes[SCRATCH_FEW];
};

/* NULL: no memory. */
struct scratch *scratch_get(struct scratch_few *few, int count);
void scratch_put(struct scratch *scratch);

#endif
