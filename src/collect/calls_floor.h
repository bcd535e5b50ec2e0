/* System calls that were counted in libc are not all: what the kernel counted beyond them is told beside them. */
#ifndef SONDE_COLLECT_CALLS_FLOOR_H
#define SONDE_COLLECT_CALLS_FLOOR_H

#include "collect/arena.h"
#include "model/run.h"

/* Adds the instances "read/other" and "write/other" to the series of a run whose calls were counted in libc, when its processes
 * read or wrote more than those (rchar, syscr …). Processes of which that is not known add nothing. */
enum err calls_floor_add(struct run *run, struct arena *arena);

#endif
