/* Processes whose leader had exited before we attached while other threads continue. The leader cannot be traced, so
 * the kernel does not report the exit of the process; the last of its other threads does. */
#ifndef SONDE_SYSCALLS_TRACER_LEADERLESS_H
#define SONDE_SYSCALLS_TRACER_LEADERLESS_H

#include "syscalls/tracer.h"

/* Threads of pid are attached, but not its leader. Reports it as a new process. NOMEM. */
enum err tracer_leaderless_add(struct tracer *tracer, pid_t pid);

/* Removes it, because exec created a new leader or it has exited. False: it was not in the list. */
bool tracer_leaderless_remove(struct tracer *tracer, pid_t pid);

/* The leaderless process that a thread belongs to which was not waited for yet. 0: none. */
pid_t tracer_leaderless_of(const struct tracer *tracer, pid_t tid);

/* Has its last thread exited and been waited for? */
bool tracer_leaderless_is_over(pid_t pid);

#endif
