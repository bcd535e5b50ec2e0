/* Translates pids of another pid namespace. */
#ifndef SONDE_PROC_PID_NAMESPACE_H
#define SONDE_PROC_PID_NAMESPACE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Finds the process that is pid_there in the pid namespace of other, a live process. GONE: not visible here. */
enum err pid_namespace_find(pid_t other, pid_t pid_there, pid_t *pid);

/* Is this process called pid_there in its own pid namespace? */
bool pid_namespace_is_own(pid_t pid, pid_t pid_there);

#endif
