/* The kernel's own maximum of the memory of a run, if the run has a cgroup to itself: a lower bound of what its processes used at
 * once, which misses nothing between two samples. */
#ifndef SONDE_SAMPLERS_CGROUP_PEAK_H
#define SONDE_SAMPLERS_CGROUP_PEAK_H

#include "jobs/cgroup.h"
#include "proc/pidmap.h"

#include <stdint.h>

struct cgroup_peak {
    struct cgroup cgroup;
    const char *root;
    bool is_usable;
    uint32_t pid;               /* of the monitoring process */
    uint64_t peak_before;       /* when the run started: only a larger one is of the run */
    uint64_t base;              /* used by other processes at the start, and by the kernel: the shell, sonde run */
    uint64_t reclaimable;       /* the most page cache and kernel memory at any reading */
};

/* Finds the cgroup of this process. It is usable if all its processes are ancestors of pid, children of pid or pid itself. */
void cgroup_peak_open(struct cgroup_peak *peak, const char *root, int proc_fd, uint32_t pid);

/* members: the processes of the run. False: unknown, because the peak was before the run, or because another process has
 * joined the cgroup, which is final. */
bool cgroup_peak_read(struct cgroup_peak *peak, int proc_fd, const struct pidmap *members, uint64_t *bytes);

#endif
