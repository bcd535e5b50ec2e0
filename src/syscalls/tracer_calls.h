/* Interprets the stops of a task at entry to and return from a system call: calls, errors, bytes, time. */
#ifndef SONDE_SYSCALLS_TRACER_CALLS_H
#define SONDE_SYSCALLS_TRACER_CALLS_H

#include "syscalls/syscall_counts.h"
#include "syscalls/tracer_tasks.h"

struct tracer_calls {
    struct syscall_counts *counts; /* borrowed */
    uint64_t own_ns;               /* overhead of the tracer between the two stops of a call, subtracted from its
                                    * time */
};

/* The task is stopped at entry to or return from a call. A call that returned EINTR is restarted unless a handler runs:
 * an ignored signal interrupts a traced task only, and another thread may have taken it by now. now_ns: time of the
 * stop; 0 if times are not wanted. */
void tracer_calls_stop(struct tracer_calls *calls, struct tracer_task *task, uint64_t now_ns);

/* We have interrupted the task, which may have aborted a call that would not have returned otherwise. Calls that the
 * kernel does not restart by itself are restarted here. Called at the stop caused by our interruption, and at the
 * return before it. */
void tracer_calls_restart(struct tracer_task *task);

#endif
