/* Shared by the job samplers: where the cgroup hierarchies (v1 and v2) are mounted, access to /proc, and a limit on the
 * number of descriptors kept open. */
#ifndef SONDE_SAMPLERS_JOBS_CGROUP_MOUNTS_H
#define SONDE_SAMPLERS_JOBS_CGROUP_MOUNTS_H

#include "proc/children.h"
#include "proc/pidmap.h"

#include <stdbool.h>

/* What a sampler lists. */
enum cgroup_mounts_kind { CGROUP_MOUNTS_THREADS, CGROUP_MOUNTS_PROCESSES };

/* One per sampler. */
struct cgroup_mounts {
    const char *root; /* borrowed */
    enum cgroup_mounts_kind kind;
    int proc_fd;
    struct children children;
    char *unified;  /* mount point of v2; NULL: not mounted */
    char **v1;  /* mount points of v1, most useful ones first; NULL-terminated */
    char *cpuacct;  /* the one of them with cpuacct; NULL: none */
    char *perf_event; /* mount point of the v1 controller perf_event; NULL: not mounted, or part of v2 */
    unsigned kept, kept_max; /* descriptors kept open, and the limit */
    struct pidlist tids, queue; /* scratch memory for listing descendants */
    struct pidmap found;
};

/* Finds the mount points below root. */
enum err cgroup_mounts_open(struct cgroup_mounts *mounts, const char *root, enum cgroup_mounts_kind kind);
void cgroup_mounts_close(struct cgroup_mounts *mounts);

/* The mount point where perf events can be counted per cgroup: perf_event of v1, or v2. NULL: none. */
const char *cgroup_mounts_perf(const struct cgroup_mounts *mounts);

/* Keeps fd open if the limit allows: then *kept is fd, which cgroup_mounts_release_fd closes. False: the caller must
 * close fd, or fd is -1. */
bool cgroup_mounts_keep_fd(struct cgroup_mounts *mounts, int *kept, int fd);
void cgroup_mounts_release_fd(struct cgroup_mounts *mounts, int *kept); /* sets it to -1; does nothing if it is -1 */

#endif
