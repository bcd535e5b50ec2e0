/* The interface between libsonde-mpi.so (dispatch.c) and the wrappers of an MPI family (libsonde-mpi-openmpi.so,
 * libsonde-mpi-mpich.so). It uses no type of any mpi.h, because the dispatcher is the same for all. */
#ifndef SONDE_PROBE_MPI_BACKEND_H
#define SONDE_PROBE_MPI_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#define BACKEND_VERSION 3u
#define BACKEND_SYMBOL "sonde_mpi_backend"
#define BACKEND_EXPORT __attribute__((visibility("default")))
#define BACKEND_ENV_MODE "SONDE_MPI" /* "counts": calls only; "off": nothing; otherwise everything */
#define BACKEND_COUNTS "counts"
#define BACKEND_OFF "off"

typedef void (*any_function)(void); /* a function with any arguments */

struct backend_function {
    const char *name;            /* "MPI_Send"; sorted */
    any_function full;            /* counts calls, time, bytes and waiting */
    any_function counting;        /* counts calls only */
    any_function *real;           /* where to store MPI's own function, PMPI_Send */
    any_function counting_tool; /* counts calls only, for a function that another tool may pass back to us (tool.h) */
    any_function enter, pick;     /* NULL: variadic, so that a wrapper cannot forward the arguments */
};

struct backend {
    unsigned version;
    unsigned count;
    const struct backend_function *functions;
    void (*ready)(bool only_counts); /* call before the first wrapper */
    any_function (*wrap_tool)(uint32_t function, any_function tool, bool only_counts); /* tool_wrap */
};

#endif
