/* What libsonde-mpi.so (dispatch.c) and the wrappers of a family (libsonde-mpi-openmpi.so, libsonde-mpi-mpich.so) know of one
 * another. No word of any mpi.h: the dispatcher is the same for all. */
#ifndef SONDE_PROBE_MPI_BACKEND_H
#define SONDE_PROBE_MPI_BACKEND_H

#include <stdbool.h>

#define BACKEND_VERSION 2u
#define BACKEND_SYMBOL "sonde_mpi_backend"
#define BACKEND_EXPORT __attribute__((visibility("default")))
#define BACKEND_ENV_MODE "SONDE_MPI" /* "counts": calls alone; "off": nothing; else all */
#define BACKEND_COUNTS "counts"
#define BACKEND_OFF "off"

struct backend_function {
    const char *name;          /* "MPI_Send"; sorted */
    void (*full)(void);        /* counts, times, weighs */
    void (*counting)(void);    /* counts alone */
    void (**real)(void);       /* where MPI's own is to be put: PMPI_Send */
};

struct backend {
    unsigned version;
    unsigned count;
    const struct backend_function *functions;
    void (*ready)(bool counts_alone); /* to be called before the first wrapper is */
};

#endif
