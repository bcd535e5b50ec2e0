/* The seccomp filter of a command that is started under the tracer: selects the system calls that stop for the
 * tracer. */
#ifndef SONDE_SYSCALLS_TRACER_FILTER_H
#define SONDE_SYSCALLS_TRACER_FILTER_H

#include "base/err.h"

#include <stdbool.h>

/* Installs it for this process and all descendants, permanently: without a tracer their calls fail with ENOSYS. Without
 * CAP_SYS_ADMIN the process also loses the ability to gain privileges by exec (no_new_privs). DENIED, ABSENT: not
 * supported. */
enum err tracer_filter_install(void);

/* Does the kernel support such filters and allow them? */
bool tracer_filter_is_available(void);

/* Is this call (native number) ignored, so that it runs without a stop? */
bool tracer_filter_ignores(int number);

#endif
