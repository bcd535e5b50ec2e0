/* What the family declares: MPI's own header, and that of OpenMPI's extensions, where it has them. */
#ifndef SONDE_PROBE_MPI_FAMILY_H
#define SONDE_PROBE_MPI_FAMILY_H

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#endif
