/* System calls in which threads are blocked: they are not counted until they return, and a waiting program does
 * nothing else. From /proc/PID/task/TID/syscall. A tracer knows better (tracer_process.h), since it sees through
 * restart_syscall. */
#ifndef SONDE_RUN_ATTACH_PENDING_H
#define SONDE_RUN_ATTACH_PENDING_H

#include "syscalls/syscall_names.h"
#include "run/attach_tree.h"

/* Indexed by system call number. */
struct attach_pending {
    uint32_t threads[SYSCALL_NAMES_MAX];
};

/* Of all blocked threads of tree->pids; running threads are in no system call. */
void attach_pending_read(struct attach_tree *tree, struct attach_pending *pending);

#endif
