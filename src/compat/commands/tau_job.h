/* The job that this process is in, as tau's client library would tell it. */
#ifndef SONDE_COMPAT_COMMANDS_TAU_JOB_H
#define SONDE_COMPAT_COMMANDS_TAU_JOB_H

#include "compat/tau/protocol.h"

/* command: the words of the program that is run, NULL behind the last. */
void tau_job_from_environment(struct tau_job *job, char *const *command);

#endif
