/* Memory for calls with many requests. A few buffers that grow and are reused; no malloc, and nothing thread-local
 * that would have to be freed. */
#ifndef SONDE_PROBE_MPI_SCRATCH_H
#define SONDE_PROBE_MPI_SCRATCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
    size_t bytes, capacity; /* mapped bytes, 0 on a stack; number of requests that fit */
    MPI_Request *requests;
    MPI_Status *statuses;
    uint32_t *tokens;
};

/* Most calls have few requests: on the caller's stack. */
enum { SCRATCH_SMALL = 16 };
struct scratch_small {
    struct scratch head;
    MPI_Request requests[SCRATCH_SMALL];
    MPI_Status statuses[SCRATCH_SMALL];
    uint32_t tokens[SCRATCH_SMALL];
};

/* NULL: out of memory. */
struct scratch *scratch_get(struct scratch_small *small, int count);
void scratch_put(struct scratch *scratch);

#endif
