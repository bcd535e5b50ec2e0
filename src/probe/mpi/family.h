/* The declarations of an MPI family: its mpi.h, and OpenMPI's extensions where present. */
#ifndef SONDE_PROBE_MPI_FAMILY_H
#define SONDE_PROBE_MPI_FAMILY_H

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#endif
