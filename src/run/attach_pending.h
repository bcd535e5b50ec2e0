/* Calls in which threads are and from which they have not returned: no count has them, and a program that waits is in nothing
 * else. From /proc/PID/task/TID/syscall; a tracer knows better (tracer_process.h), since it has calls begun anew under
 * another name. */
#ifndef SONDE_RUN_ATTACH_PENDING_H
#define SONDE_RUN_ATTACH_PENDING_H

#include "syscalls/syscall_names.h"
#include "run/attach_tree.h"

/* By the number of the call. */
struct attach_pending {
    uint32_t threads[SYSCALL_NAMES_MAX];
};

/* Of all threads of tree->pids that wait; who computes, or does something in the kernel just now, is in none. */
void attach_pending_look(struct attach_tree *tree, struct attach_pending *pending);

#endif
