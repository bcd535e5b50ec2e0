/* The tracer as a process of its own, because who traces waits for nothing else: numbers come back through memory that both
 * have. Should this process end, the tracer lets go of the program and ends too. */
#ifndef SONDE_SYSCALLS_TRACER_PROCESS_H
#define SONDE_SYSCALLS_TRACER_PROCESS_H

#include "syscalls/syscall_counts.h"
#include "syscalls/tracer_cost.h"
#include "syscalls/tracer_privileges.h"

#include <sys/types.h>

/* Shared with the tracer. */
struct tracer_page {
    struct syscall_counts counts;
    _Atomic uint32_t alive; /* tasks that are held now */
    uint32_t held;          /* at the beginning */
    _Atomic bool is_over;   /* it has let go, and has told of all processes */
    _Atomic uint32_t end;   /* of the process that was asked for: TRACER_ENDED | its status; 0: it has not ended */
    uint32_t pending[SYSCALL_NAMES_MAX]; /* by the number of a call: tasks that were in it when they were let go */
    struct tracer_cost cost;
    struct tracer_privileges privileges;
};

struct tracer_process {
    struct tracer_page *page;
    pid_t pid;  /* of the tracer */
    int end_fd; /* readable when the tracer has let go or has ended */
};

struct tracer_listener;

/* Begins to watch target and all that descends from it. The errors are those of tracer_seize. lives: told in the tracer's
 * process; NULL: nobody. */
enum err tracer_process_start(struct tracer_process *process, pid_t target, bool timed,
                              const struct tracer_listener *listener);

/* Asks it to let go and waits until it has; does nothing when that was done. The page stays. */
void tracer_process_stop(struct tracer_process *process);

/* Stops and frees. */
void tracer_process_close(struct tracer_process *process);

#endif
