/* The job of this process, as tau's client library would report it. */
#ifndef SONDE_COMPAT_COMMANDS_TAU_JOB_H
#define SONDE_COMPAT_COMMANDS_TAU_JOB_H

#include "compat/tau/protocol.h"

/* command: the arguments of the command, NULL-terminated. */
void tau_job_from_environment(struct tau_job *job, char *const *command);

#endif
