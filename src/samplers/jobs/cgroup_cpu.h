/* The CPU time that a job has used so far, from its cgroup: cpuacct.usage of v1 (ns), usage_usec of cpu.stat of v2. */
#ifndef SONDE_SAMPLERS_JOBS_CGROUP_CPU_H
#define SONDE_SAMPLERS_JOBS_CGROUP_CPU_H

#include "jobs/cgroup.h"
#include "model/job.h"

#include <stdint.h>

struct cgroup_cpu_mounts {
    char cpuacct[CGROUP_PATH_MAX], unified[CGROUP_PATH_MAX]; /* "": not mounted */
};

/* Where the hierarchies are, by /proc/self/mountinfo below root. */
void cgroup_cpu_find_mounts(const char *root, struct cgroup_cpu_mounts *mounts);

/* The file of a job's CPU time, without the root. ABSENT: it has no cgroup, or its hierarchy is not mounted. */
enum err cgroup_cpu_path(const struct cgroup_cpu_mounts *mounts, const struct job *job, char *path, size_t size);

/* From an open file, v2 when unified. GONE: the job's group is no more. Takes any content. */
enum err cgroup_cpu_read(int fd, bool unified, uint64_t *cpu_ns);

#endif
