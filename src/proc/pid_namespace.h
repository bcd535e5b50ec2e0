/* Translates pids of another pid namespace. */
#ifndef SONDE_PROC_PID_NAMESPACE_H
#define SONDE_PROC_PID_NAMESPACE_H

#include "base/err.h"

#include <sys/types.h>

/* Finds the process that is pid_there in the pid namespace of other, a live process. GONE: not visible here. */
enum err pid_namespace_find(pid_t other, pid_t pid_there, pid_t *pid);

#endif
