/* Jobs that somebody tells us of: a prolog, sonde run. For jobs.c alone. */
#ifndef SONDE_JOBS_DECLARED_H
#define SONDE_JOBS_DECLARED_H

#include "jobs/job_registry.h"

/* As jobs_begin and jobs_end. */
enum err declared_begin(struct job_registry *registry, const struct job *job);
enum err declared_end(struct job_registry *registry, const char *id, uint64_t end_ns);

/* As jobs_has_cgroup. */
bool declared_has_cgroup(const struct job_registry *registry, const char *path);

/* As jobs_request_syscalls. */
enum err declared_request_syscalls(struct job_registry *registry, const char *id, enum job_syscalls mode);

/* Is it still there, as far as what was told of it can be looked at: its cgroup, its process? */
bool declared_is_alive(const struct job_registry *registry, struct job_entry *entry);

#endif
