/* The CPU time that a job without a cgroup has used so far: its first process, all descendants that live, and those that one
 * of these has waited for. In ticks of the kernel. It falls when a process ends that nobody waits for, or leaves the tree. */
#ifndef SONDE_SAMPLERS_JOBS_PID_CPU_H
#define SONDE_SAMPLERS_JOBS_PID_CPU_H

#include "samplers/jobs/cgroup_mounts.h"

#include <stdint.h>

/* What all such jobs share. */
struct pidcpu {
    struct job_groups groups;
    struct pidlist found;
    uint64_t ns_per_tick;
};

/* root is borrowed until pidcpu_close. */
enum err pidcpu_open(struct pidcpu *pidcpu, const char *root);
void pidcpu_close(struct pidcpu *pidcpu);

/* pid: of the first process. GONE: it has ended. */
enum err pidcpu_read(struct pidcpu *pidcpu, uint32_t pid, uint64_t *cpu_ns);

#endif
