/* Jobs that somebody tells us of: a prolog, sonde run. For jobs.c alone. */
#ifndef SONDE_JOBS_DECLARED_H
#define SONDE_JOBS_DECLARED_H

#include "jobs/job_registry.h"

/* As jobs_begin and jobs_end. */
enum err told_begin(struct roll *roll, const struct job *job);
enum err told_end(struct roll *roll, const char *id, uint64_t end_ns);

/* As jobs_has_cgroup. */
bool told_has_cgroup(const struct roll *roll, const char *path);

/* As jobs_ask_syscalls. */
enum err told_wish(struct roll *roll, const char *id, enum job_syscalls wish);

/* Is it still there, as far as what was told of it can be looked at: its cgroup, its process? */
bool told_is_alive(const struct roll *roll, struct entry *entry);

#endif
