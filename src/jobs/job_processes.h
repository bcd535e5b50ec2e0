/* Detects the end of jobs whose end is not reported, by their processes. Internal to jobs.c. */
#ifndef SONDE_JOBS_JOB_PROCESSES_H
#define SONDE_JOBS_JOB_PROCESSES_H

#include "jobs/job_registry.h"

/* Ends a job that has had no process for a while, and resumes one that has some again. entry may be freed. */
void job_processes_check(struct job_registry *registry, struct job_entry *entry, uint64_t now_ns);

#endif
