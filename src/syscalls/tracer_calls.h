/* What a task's stops at the entry and the return of a system call mean: calls, errors, bytes, time. */
#ifndef SONDE_SYSCALLS_TRACER_CALLS_H
#define SONDE_SYSCALLS_TRACER_CALLS_H

#include "syscalls/syscall_counts.h"
#include "syscalls/tracer_tasks.h"

struct tracer_calls {
    struct syscall_counts *counts; /* borrowed */
    uint64_t own_ns;               /* of the time between two stops, what is the tracer's and not the call's */
};

/* The task stands at the entry or at the return of a call. One that returned EINTR is begun anew unless a handler runs: a
 * signal that is ignored wakes a traced task and no other, and by now another thread may have taken it. now_ns: when we heard
 * of it; 0 where time is not wanted. */
void tracer_calls_stop(struct tracer_calls *calls, struct tracer_task *task, uint64_t now_ns);

/* We have interrupted the task, which may have broken off a call that would not have ended otherwise. Those that the kernel
 * does not begin anew by itself are made to. Called at the stop that our interruption led to, and at the return before it. */
void tracer_calls_restart(struct tracer_task *task);

#endif
