/* Which program of MPI this process is a rank of, and which of its worlds: from the environment in which the launcher has
 * started it, and from /proc. To the head of the board (appmetrics/segment_format.h). */
#ifndef SONDE_PROBE_MPI_WORLD_H
#define SONDE_PROBE_MPI_WORLD_H

#include <stdbool.h>
#include <stdint.h>

struct world {
    uint64_t program; /* the same for all ranks that one launcher has started, those that they spawned included; on one node */
    uint32_t number;  /* 0: the first world; else which of those that were spawned, 1 where nobody tells */
};

struct world world_find(bool is_spawned);

/* Which world is meant by PMIX_NAMESPACE. OpenMPI 4: a number, the launcher's and 16 bits that count its worlds from 1;
 * OpenMPI 5: "prterun-node-4711@2". */
uint32_t world_of_namespace(const char *space);

#endif
