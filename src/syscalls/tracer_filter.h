/* The seccomp filter of a command that is started under the tracer: which of its system calls stop for the tracer, and which
 * run as if nobody looked. */
#ifndef SONDE_SYSCALLS_TRACER_FILTER_H
#define SONDE_SYSCALLS_TRACER_FILTER_H

#include "base/err.h"

#include <stdbool.h>

/* For this process and all that it starts, for ever: their calls fail with ENOSYS while there is no tracer. Whoever lacks
 * CAP_SYS_ADMIN gives up, with it, to gain rights by exec (no_new_privs). DENIED, ABSENT: the kernel does not do it. */
enum err tracer_filter_install(void);

/* Whether the kernel knows such filters and lets us ask. */
bool tracer_filter_is_available(void);

/* Whether the call, by its number on this machine, passes the tracer by. */
bool tracer_filter_ignores(int number);

#endif
