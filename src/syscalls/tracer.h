/* Traces the system calls of running processes with ptrace: for processes that we cannot preload a library into, where
 * eBPF is not available. The program is left intact whatever happens to the tracer: tasks are seized, not attached to,
 * no signal is consumed, and the kernel detaches them if the tracer dies.
 *
 * These functions run in one process, the tracer, which tracer_process.h starts. */
#ifndef SONDE_SYSCALLS_TRACER_H
#define SONDE_SYSCALLS_TRACER_H

#include "proc/children.h"
#include "syscalls/tracer_calls.h"
#include "syscalls/tracer_privileges.h"

#include <signal.h>

/* A command that was seized before its exec; see tracer_launch.h. */
struct tracer_command {
    struct syscall_counts *counts; /* counts from its exec on */
    const _Atomic uint32_t *state; /* enum tracer_launch_state */
    struct tracer_privileges *privileges;
};

/* Callbacks for traced processes (not threads), called in the tracer. Set all of them, or pass NULL. */
struct tracer_listener {
    void *context;
    void (*begins)(void *context, pid_t pid, bool is_new); /* not new: it was running before we attached */
    void (*execs)(void *context, pid_t pid);
    void (*ends)(void *context, pid_t pid);                /* about to exit: /proc still has everything */
    void (*ended)(void *context, pid_t pid, int status);   /* a zombie; status as from wait4 */
    void (*over)(void *context);                           /* the remaining processes are about to be detached */
};

#define TRACER_ENDED 0x10000u

struct tracer {
    struct tracer_tasks tasks;
    struct tracer_calls calls;
    bool filtered;            /* a seccomp filter selects the calls that stop; else all do */
    bool detaching;             /* tasks are detached at their next stop */
    uint64_t stops;           /* stops since all tasks were polled */
    _Atomic uint32_t *alive;  /* number of attached tasks, for other processes; borrowed */
    const struct tracer_command *command; /* NULL: the traced processes were running before */
    bool has_begun;               /* the command has called exec */
    struct tracer_privileges *privileges; /* used if command is NULL; NULL: not wanted */
    const struct tracer_listener *listener; /* NULL: none */
    struct pidlist leaderless; /* tracer_leaderless.h */
    pid_t target;             /* the process whose exit status is stored in end */
    _Atomic uint32_t *end;    /* TRACER_ENDED | status as from wait4; borrowed. NULL: not wanted */
    uint32_t *pending;        /* by call number: tasks that were in it when they were detached; borrowed. NULL: not
                               * wanted */
};

/* Attaches to pid, its threads and all descendants, and resumes them. *attached: how many. GONE: no such process, or it has
 * exited; DENIED: not permitted, or another tracer has it; NOMEM. Descendants that may not be traced are skipped. */
enum err tracer_seize(struct tracer *tracer, pid_t pid, size_t *attached);

/* Counts until the last task has exited or *stop is set by a signal handler. If it is set just before the wait, it is
 * noticed at the next event only: set it again after a while. */
void tracer_run(struct tracer *tracer, const volatile sig_atomic_t *stop);

/* Detaches all tasks. Those that cannot be stopped now are detached by the exit of this process, which should
 * follow. */
void tracer_detach(struct tracer *tracer);

/* Adds a task. NULL: no memory. */
struct tracer_task *tracer_add_task(struct tracer *tracer, pid_t tid);

/* Calls the listener for a new task, if it is a process. */
void tracer_report_begin(const struct tracer *tracer, pid_t tid, bool is_new);

#define TRACER_OPTIONS \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

#endif
