/* Which jobs have their system calls counted now, for whoever was asked to have it done (the agent). */
#ifndef SONDE_SAMPLERS_JOBS_SYSCALLS_H
#define SONDE_SAMPLERS_JOBS_SYSCALLS_H

#include "model/batch.h"

/* OK: its calls are counted. ABSENT, DENIED, …: they are not, and why is a sentence that says so; "": nobody has tried. The
 * sampler `syscalls` of this process is asked. */
enum err job_syscalls_state(const char *id, const char **error);

/* Adds what was counted of it so far to out; *since_ns: from when on, CLOCK_REALTIME. ABSENT: it is not counted. */
enum err job_syscalls_read(const char *id, uint64_t *since_ns, struct batch *out);

#endif
