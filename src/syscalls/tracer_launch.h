/* Starts a command traced from its exec on. Three processes: the launcher; the tracer, which is a child of the launcher
 * and not the parent of the command, so that wait, job control and terminals work as usual; the command, which requests
 * to be traced before its exec. The tracer exits with the last task that it traces and not before, because tasks under
 * the filter cannot continue without it. */
#ifndef SONDE_SYSCALLS_TRACER_LAUNCH_H
#define SONDE_SYSCALLS_TRACER_LAUNCH_H

#include "syscalls/syscall_counts.h"
#include "syscalls/tracer_cost.h"
#include "syscalls/tracer_privileges.h"

#include <sys/types.h>

/* The outcome. */
enum tracer_launch_state {
    TRACER_LAUNCH_NONE,     /* not requested yet, or the tracer is gone */
    TRACER_LAUNCH_REFUSED,  /* the command runs untraced */
    TRACER_LAUNCH_FILTERED, /* stops at the calls that the filter does not ignore */
    TRACER_LAUNCH_UNFILTERED,    /* no filter available: stops at every call */
};

/* Shared memory of the three. */
struct tracer_launch_page {
    struct syscall_counts counts;
    _Atomic uint32_t alive; /* number of attached tasks */
    _Atomic uint32_t state; /* enum tracer_launch_state */
    struct tracer_privileges privileges;
    struct tracer_cost cost;
};

/* Zeroed: none. */
struct tracer_launch {
    struct tracer_launch_page *page;
    pid_t tracer;
    int request_fd; /* used by the command and the launcher */
};

/* Starts the tracer. On an error (DENIED …) ptrace is not available and nothing was started. Takes about 10 ms. */
enum err tracer_launch_open(struct tracer_launch *launch, bool timed);

/* Call in the command's process right before exec. Sets the state in the page; never fails. */
void tracer_launch_enter(const struct tracer_launch *launch);

/* Call in the launcher once the command runs or failed to start: a tracer without a request exits now. */
void tracer_launch_done(struct tracer_launch *launch);

/* Frees; the tracer continues while it traces any task. */
void tracer_launch_close(struct tracer_launch *launch);

#endif
