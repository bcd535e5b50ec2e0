/* Total CPU time of a job without a cgroup: its first process, all live descendants, and the processes that these have
 * waited for. In ticks of the kernel. It decreases when a process exits that nobody waits for, or leaves the tree. */
#ifndef SONDE_SAMPLERS_JOBS_PID_CPU_H
#define SONDE_SAMPLERS_JOBS_PID_CPU_H

#include "samplers/jobs/cgroup_mounts.h"

#include <stdint.h>

/* Shared by all such jobs. */
struct pid_cpu {
    struct cgroup_mounts mounts;
    struct pidlist found;
    uint64_t ns_per_tick;
};

/* root is borrowed until pid_cpu_close. */
enum err pid_cpu_open(struct pid_cpu *pid_cpu, const char *root);
void pid_cpu_close(struct pid_cpu *pid_cpu);

/* pid: the first process of the job. GONE: it has exited. */
enum err pid_cpu_read(struct pid_cpu *pid_cpu, uint32_t pid, uint64_t *cpu_ns);

#endif
