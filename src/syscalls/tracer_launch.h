/* A command that is traced from its exec on. Three processes: who starts it; the tracer, which is its child and not the
 * command's parent, so that waiting, stopping and terminals are as they always are; the command, which asks to be traced
 * before its exec. The tracer ends with the last of those it holds and not before, whoever else ends: under the filter they
 * could not go on without it. */
#ifndef SONDE_SYSCALLS_TRACER_LAUNCH_H
#define SONDE_SYSCALLS_TRACER_LAUNCH_H

#include "syscalls/syscall_counts.h"
#include "syscalls/tracer_cost.h"
#include "syscalls/tracer_privileges.h"

#include <sys/types.h>

/* What became of it. */
enum tracer_launch_state {
    TRACER_LAUNCH_NONE,     /* nobody has asked yet, or the tracer is gone */
    TRACER_LAUNCH_REFUSED,  /* the command runs untraced */
    TRACER_LAUNCH_FILTERED, /* stops at the calls that the filter does not free */
    TRACER_LAUNCH_UNFILTERED,    /* no filter to be had: stops at every call */
};

/* Shared by the three. */
struct tracer_launch_page {
    struct syscall_counts counts;
    _Atomic uint32_t alive; /* tasks that are held now */
    _Atomic uint32_t state; /* enum tracer_launch_state */
    struct tracer_privileges privileges;
    struct tracer_cost cost;
};

/* Zeroed: there is none. */
struct tracer_launch {
    struct tracer_launch_page *page;
    pid_t tracer;
    int request_fd; /* of the command and of who starts it */
};

/* Starts the tracer. DENIED …: ptrace is not to be had here, nothing was started. Takes about 10 ms. */
enum err tracer_launch_open(struct tracer_launch *launch, bool timed);

/* In the command's process, right before exec: may change the state of the page, never fails. */
void tracer_launch_enter(const struct tracer_launch *launch);

/* In who started it, once the command runs or has not come to be: a tracer that nobody has asked ends now. */
void tracer_launch_done(struct tracer_launch *launch);

/* Frees; the tracer goes on while it holds anybody. */
void tracer_launch_close(struct tracer_launch *launch);

#endif
