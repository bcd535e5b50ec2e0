/* The header of a family, to be preprocessed: generate.py reads the functions from it. */
#include "probe/mpi/family.h"
