/* The CPU time that a job without a cgroup has used so far: its first process, all descendants that live, and those that one
 * of these has waited for. In ticks of the kernel. It falls when a process ends that nobody waits for, or leaves the tree. */
#ifndef SONDE_SAMPLERS_JOBS_PID_CPU_H
#define SONDE_SAMPLERS_JOBS_PID_CPU_H

#include "samplers/jobs/cgroup_mounts.h"

#include <stdint.h>

/* What all such jobs share. */
struct pid_cpu {
    struct cgroup_mounts groups;
    struct pidlist found;
    uint64_t ns_per_tick;
};

/* root is borrowed until pid_cpu_close. */
enum err pid_cpu_open(struct pid_cpu *pid_cpu, const char *root);
void pid_cpu_close(struct pid_cpu *pid_cpu);

/* pid: of the first process. GONE: it has ended. */
enum err pid_cpu_read(struct pid_cpu *pid_cpu, uint32_t pid, uint64_t *cpu_ns);

#endif
