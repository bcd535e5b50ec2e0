/* The job that this process is in, as tau's client library would tell it. */
#ifndef SONDE_CMD_TAU_JOB_H
#define SONDE_CMD_TAU_JOB_H

#include "wire/tau.h"

/* command: the words of the program that is run, NULL behind the last. */
void tau_job_from_environment(struct tau_job *job, char *const *command);

#endif
