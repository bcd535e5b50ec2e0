/* System calls that were counted in libc are not all: what the kernel counted beyond them is told beside them. */
#ifndef SONDE_MERGE_SYSCALL_BYTES_H
#define SONDE_MERGE_SYSCALL_BYTES_H

#include "merge/arena.h"
#include "model/run.h"

/* Adds the instances "read/other" and "write/other" to the series of a run whose calls were counted in libc, when its processes
 * read or wrote more than those (rchar, syscr …). Where the kernel tells the bytes of a process but not its calls, as of static
 * ones and of those that are killed, calls are not known; where it tells nothing of one that was counted in libc, neither are. */
enum err calls_floor_add(struct run *run, struct arena *arena);

#endif
