/* The jobs whose system calls are being counted, for the agent. */
#ifndef SONDE_SAMPLERS_JOBS_SYSCALLS_H
#define SONDE_SAMPLERS_JOBS_SYSCALLS_H

#include "model/batch.h"

/* OK: the calls of the job are counted. ABSENT, DENIED, …: they are not, and *error is a sentence that says why; "":
 * counting was not requested. Asks the sampler `syscalls` of this process. */
enum err job_syscalls_state(const char *id, const char **error);

/* Adds the counts so far to out. *since_ns: when counting began, CLOCK_REALTIME. ABSENT: it is not counted. */
enum err job_syscalls_read(const char *id, uint64_t *since_ns, struct batch *out);

#endif
