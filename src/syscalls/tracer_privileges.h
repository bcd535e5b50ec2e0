/* Detects executables that would gain privileges (set-uid, set-gid, file capabilities) but do not, because they are
 * traced. The first one is remembered for a warning. */
#ifndef SONDE_SYSCALLS_TRACER_PRIVILEGES_H
#define SONDE_SYSCALLS_TRACER_PRIVILEGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* Zeroed at first. Written by the tracer; others may read path if is_known. */
struct tracer_privileges {
    _Atomic bool is_known;
    char path[256];
};

/* Call after tid has called exec. */
void tracer_privileges_check(struct tracer_privileges *privileges, pid_t tid);

#endif
