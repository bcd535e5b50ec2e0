/* Watches the system calls of processes that run, through ptrace: for processes that are not ours to preload anything into,
 * where the kernel does not count for us. The program is left as it was, whatever happens to the tracer: it is seized and
 * not attached to, nothing is taken from its queue of signals, and when the tracer ends the kernel lets go.
 *
 * The calls of this file are those of one process, which is the tracer: tracer_process.h starts it. */
#ifndef SONDE_SYSCALLS_TRACER_H
#define SONDE_SYSCALLS_TRACER_H

#include "proc/children.h"
#include "syscalls/tracer_calls.h"
#include "syscalls/tracer_privileges.h"

#include <signal.h>

/* A command that was seized before its exec; tracer_launch.h. */
struct tracer_command {
    struct syscall_counts *counts; /* of what it does from then on */
    const _Atomic uint32_t *state; /* enum tracer_launch_state, by then */
    struct tracer_privileges *privileges;
};

/* Who wants to hear of the processes that are traced, threads left out; called in the tracer. All of them, or NULL. */
struct tracer_listener {
    void *context;
    void (*begins)(void *context, pid_t pid, bool is_new); /* not new: it ran before we came */
    void (*execs)(void *context, pid_t pid);
    void (*ends)(void *context, pid_t pid);                /* it stands before its end: /proc still tells everything */
    void (*ended)(void *context, pid_t pid, int status);   /* a zombie; status as from wait4 */
    void (*over)(void *context);                           /* those that are left are let go now */
};

#define TRACER_ENDED 0x10000u

struct tracer {
    struct tracer_tasks tasks;
    struct tracer_calls calls;
    bool filtered;            /* a seccomp filter says at which calls tasks stop; else at all of them */
    bool detaching;             /* tasks are let go at their next stop */
    uint64_t stops;           /* since tasks were looked at one by one */
    _Atomic uint32_t *alive;  /* tasks held now, for whoever looks on; borrowed */
    const struct tracer_command *first; /* NULL: what is traced ran before */
    bool has_begun;               /* the first of them has exec'd */
    struct tracer_privileges *privileges; /* where there is no first; NULL: nobody wants to know */
    const struct tracer_listener *listener; /* NULL: nobody */
    struct pidlist leaderless; /* tracer_leaderless.h */
    pid_t target;             /* whose end is told to: */
    _Atomic uint32_t *end;    /* TRACER_ENDED | status as from wait4; borrowed. NULL: nobody */
    uint32_t *pending;        /* by the number of a call: tasks that were in it when they were let go; borrowed. NULL: nobody */
};

/* Takes hold of pid, its threads and all that descend from it, and sets them going again. *held: how many.
 * GONE: there is no such process, or it has ended; DENIED: this user may not, or another tracer has it; NOMEM. What of its
 * descendants may not be watched is left out. */
enum err tracer_seize(struct tracer *tracer, pid_t pid, size_t *held);

/* Counts until the last of them has ended or *stop is set by a signal handler. The one who sets it in between must set it
 * again after a while: a signal just before the wait is noticed at the next event. */
void tracer_run(struct tracer *tracer, const volatile sig_atomic_t *stop);

/* Lets all go. Those that cannot be stopped now are let go by the end of this process, which should follow. */
void tracer_detach(struct tracer *tracer);

/* A task begins to be watched. NULL: no memory. */
struct tracer_task *tracer_add_task(struct tracer *tracer, pid_t tid);

/* Tells of a task that has begun to be watched, if it is a process. */
void tracer_report_begin(const struct tracer *tracer, pid_t tid, bool is_new);

#define TRACER_OPTIONS \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

#endif
