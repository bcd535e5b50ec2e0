/* Runs the tracer as a process of its own, because it must wait for ptrace events only. Counts come back through shared
 * memory. If this process exits, the tracer detaches and exits too. */
#ifndef SONDE_SYSCALLS_TRACER_PROCESS_H
#define SONDE_SYSCALLS_TRACER_PROCESS_H

#include "syscalls/syscall_counts.h"
#include "syscalls/tracer_cost.h"
#include "syscalls/tracer_privileges.h"

#include <sys/types.h>

/* Shared memory of this process and the tracer. */
struct tracer_page {
    struct syscall_counts counts;
    _Atomic uint32_t alive; /* number of attached tasks */
    uint32_t attached_at_start;          /* number of tasks attached at the beginning */
    _Atomic bool is_over;   /* it has detached and called the listener for all processes */
    _Atomic uint32_t end;   /* exit status of the target: TRACER_ENDED | status; 0: it has not exited */
    uint32_t pending[SYSCALL_NAMES_MAX]; /* by call number: tasks that were in it when they were detached */
    struct tracer_cost cost;
    struct tracer_privileges privileges;
};

struct tracer_process {
    struct tracer_page *page;
    pid_t pid;  /* pid of the tracer */
    int end_fd; /* readable when the tracer has detached or exited */
};

struct tracer_listener;

/* Starts to trace target and all its descendants. Errors are those of tracer_seize. listener: called in the tracer
 * process; NULL: none. */
enum err tracer_process_start(struct tracer_process *process, pid_t target, bool timed,
                              const struct tracer_listener *listener);

/* Makes it detach and waits for that; does nothing the second time. The page stays valid. */
void tracer_process_stop(struct tracer_process *process);

/* Stops and frees. */
void tracer_process_close(struct tracer_process *process);

#endif
