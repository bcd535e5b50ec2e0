/* The job that a process is in, by its cgroup, which is the kernel's word, and by its environment, which is its own. */
#ifndef SONDE_JOBS_PID_JOB_H
#define SONDE_JOBS_PID_JOB_H

#include "jobs/job_source.h"

#include <sys/types.h>

#define PID_CGROUP_MAX 16384 /* of the text of /proc/PID/cgroup */

/* The next line of /proc/PID/cgroup, from text on, whose path leads through the folder of a job. Returns what follows it; NULL:
 * there is none. */
const char *pid_job_next(const char *text, struct job_source_facts *facts);

/* Is the process whose /proc/PID/cgroup this is in the group, or in one below it? Takes any text. */
bool pid_job_in_group(const char *membership, const char *group);

/* "4711", and its name, "" where nobody tells it. ABSENT: it is in none that can be seen; GONE: there is no such process. With
 * is_any, a job that only SONDE_JOB names counts too: what programs tell an agent goes by it. */
enum err pid_job(const char *root, pid_t pid, bool accepts_sonde_job, struct job_id *job);

#endif
