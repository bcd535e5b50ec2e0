/* Programs that would have had more rights than their user (set-uid, set-gid, file capabilities), and do not get them because
 * somebody traces them: the first of them is remembered, so that whoever wonders can be told. */
#ifndef SONDE_SYSCALLS_TRACER_PRIVILEGES_H
#define SONDE_SYSCALLS_TRACER_PRIVILEGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* Zeroed; the tracer writes it, others read path when is_known. */
struct tracer_privileges {
    _Atomic bool is_known;
    char path[256];
};

/* tid has just exec'd. */
void tracer_privileges_check(struct tracer_privileges *privileges, pid_t tid);

#endif
