/* System calls that bypass libc. If calls were counted in libc, this adds what the kernel counted beyond that. */
#ifndef SONDE_MERGE_OTHER_SYSCALLS_H
#define SONDE_MERGE_OTHER_SYSCALLS_H

#include "merge/arena.h"
#include "model/run.h"

/* Adds the instances "read/other" and "write/other" to the series of a run whose calls were counted in libc, if its
 * processes read or wrote more than that (rchar, syscr, ...). If the kernel reports bytes but no calls of a process
 * (static or killed ones), calls are unknown. If it reports nothing of a process that was counted in libc, both are. */
enum err other_syscalls_add(struct run *run, struct arena *arena);

#endif
