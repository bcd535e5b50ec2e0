/* What libsonde-mpi.so (dispatch.c) and the wrappers of a family (libsonde-mpi-openmpi.so, libsonde-mpi-mpich.so) know of one
 * another. No word of any mpi.h: the dispatcher is the same for all. */
#ifndef SONDE_PROBE_MPI_BACKEND_H
#define SONDE_PROBE_MPI_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#define BACKEND_VERSION 3u
#define BACKEND_SYMBOL "sonde_mpi_backend"
#define BACKEND_EXPORT __attribute__((visibility("default")))
#define BACKEND_ENV_MODE "SONDE_MPI" /* "counts": calls alone; "off": nothing; else all */
#define BACKEND_COUNTS "counts"
#define BACKEND_OFF "off"

typedef void (*backend_any)(void); /* a function, whatever its arguments */

struct backend_function {
    const char *name;            /* "MPI_Send"; sorted */
    backend_any full;            /* counts, times, weighs */
    backend_any counting;        /* counts alone */
    backend_any *real;           /* where MPI's own is to be put: PMPI_Send */
    backend_any counting_around; /* counts alone what a tool may pass on to us again (tool.h) */
    backend_any enter, pick;     /* NULL: it has arguments that a wrapper does not know */
};

struct backend {
    unsigned version;
    unsigned count;
    const struct backend_function *functions;
    void (*ready)(bool counts_alone); /* to be called before the first wrapper is */
    backend_any (*put_around)(uint32_t function, backend_any tool, bool counts_alone); /* tool_put */
};

#endif
