/* Processes whose first thread had ended before the tracer came, while others go on: it cannot be held, and so the kernel does
 * not tell the tracer of the end of the process. The last of the other threads does. */
#ifndef SONDE_SYSCALLS_TRACER_LEADERLESS_H
#define SONDE_SYSCALLS_TRACER_LEADERLESS_H

#include "syscalls/tracer.h"

/* Threads of pid are held, and the first is not: it is told as one that begins. NOMEM. */
enum err tracer_leaderless_add(struct tracer *tracer, pid_t pid);

/* False: it was none of them. It is none any more: an exec has made a first thread of another, or it has ended. */
bool tracer_leaderless_remove(struct tracer *tracer, pid_t pid);

/* The one of them that a thread which nobody has waited for is in. 0: none. */
pid_t tracer_leaderless_of(const struct tracer *tracer, pid_t tid);

/* Has its last thread ended, and been waited for? */
bool tracer_leaderless_is_over(pid_t pid);

#endif
