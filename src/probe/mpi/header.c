/* Preprocessed, so that generate.py can read the declarations of an MPI family. */
#include "probe/mpi/family.h"
