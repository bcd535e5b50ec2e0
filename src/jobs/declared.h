/* Jobs that are declared with `sonde job begin` (by a prolog) or by `sonde run`. Internal to jobs.c. */
#ifndef SONDE_JOBS_DECLARED_H
#define SONDE_JOBS_DECLARED_H

#include "jobs/job_registry.h"

/* Implement jobs_begin and jobs_end. */
enum err declared_begin(struct job_registry *registry, const struct job *job);
enum err declared_end(struct job_registry *registry, const char *id, uint64_t end_ns);

/* Implements jobs_restore. */
enum err declared_restore(struct job_registry *registry, const struct job *job, const struct jobs_saved *saved);

/* Implements jobs_request_syscalls. */
enum err declared_request_syscalls(struct job_registry *registry, const char *id, enum job_syscalls mode);

/* Does the declared cgroup or process still exist? */
bool declared_is_alive(const struct job_registry *registry, struct job_entry *entry);

#endif
