/* Does a job still live? For those whose end nobody tells. For jobs.c alone. */
#ifndef SONDE_JOBS_JOB_PROCESSES_H
#define SONDE_JOBS_JOB_PROCESSES_H

#include "jobs/job_registry.h"

/* Ends who has had no process for a while, begins who has some again. entry may be gone afterwards. */
void job_processes_check(struct job_registry *registry, struct job_entry *entry, uint64_t now_ns);

#endif
