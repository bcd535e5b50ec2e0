/* Total CPU time of a job, from its cgroup: cpuacct.usage (ns) in v1, usage_usec of cpu.stat in v2. */
#ifndef SONDE_SAMPLERS_JOBS_CGROUP_CPU_H
#define SONDE_SAMPLERS_JOBS_CGROUP_CPU_H

#include "jobs/cgroup.h"
#include "model/job.h"

#include <stdint.h>

struct cgroup_cpu_mounts {
    char cpuacct[CGROUP_PATH_MAX], unified[CGROUP_PATH_MAX]; /* "": not mounted */
};

/* Finds the mount points in /proc/self/mountinfo below root. */
void cgroup_cpu_find_mounts(const char *root, struct cgroup_cpu_mounts *mounts);

/* The path of the file, without root. ABSENT: the job has no cgroup, or its hierarchy is not mounted. */
enum err cgroup_cpu_path(const struct cgroup_cpu_mounts *mounts, const struct job *job, char *path, size_t size);

/* Reads an open file, v2 if unified. GONE: the cgroup was removed. Accepts any content. */
enum err cgroup_cpu_read(int fd, bool unified, uint64_t *cpu_ns);

#endif
