/* Which MPI program this process is a rank of, and which of its worlds: from the launcher's environment variables
 * and /proc. Stored in the header of the segment (appmetrics/segment_format.h). */
#ifndef SONDE_PROBE_MPI_WORLD_H
#define SONDE_PROBE_MPI_WORLD_H

#include <stdbool.h>
#include <stdint.h>

struct world {
    uint64_t program; /* the same for all ranks started by one launcher, including those they spawned; on one node */
    uint32_t number;  /* 0: the first world; else which of the spawned ones, 1 if unknown */
};

struct world world_find(bool is_spawned);

/* The number of the world in PMIX_NAMESPACE. OpenMPI 4: an integer, whose low 16 bits count the launcher's worlds
 * from 1; OpenMPI 5: "prterun-node-4711@2". */
uint32_t world_of_namespace(const char *space);

#endif
