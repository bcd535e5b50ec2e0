/* The job that a process belongs to, by its cgroup, which the kernel guarantees, and by its environment, which it can
 * set itself. */
#ifndef SONDE_JOBS_PID_JOB_H
#define SONDE_JOBS_PID_JOB_H

#include "jobs/job_source.h"

#include <sys/types.h>

#define PID_CGROUP_MAX 16384 /* bytes of /proc/PID/cgroup */

/* The next line of /proc/PID/cgroup, from text on, whose path contains the cgroup of a job. Returns the text after it;
 * NULL: there is none. */
const char *pid_job_next(const char *text, struct job_source_facts *facts);

/* Given /proc/PID/cgroup: is the process in the cgroup or in one below it? Accepts any text. */
bool pid_job_in_group(const char *membership, const char *group);

/* Finds the job's id and name ("": unknown). ABSENT: not in a visible job; GONE: no such process. accepts_sonde_job:
 * the variable SONDE_JOB counts too, as for program metrics sent to an agent. */
enum err pid_job(const char *root, pid_t pid, bool accepts_sonde_job, struct job_id *job);

#endif
