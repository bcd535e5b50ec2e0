/* What the samplers of jobs need to know of the node: where the cgroup hierarchies are mounted, v1 and v2, and how many
 * descriptors they may keep open. */
#ifndef SONDE_SAMPLERS_JOBS_CGROUP_MOUNTS_H
#define SONDE_SAMPLERS_JOBS_CGROUP_MOUNTS_H

#include "proc/children.h"
#include "proc/pidmap.h"

#include <stdbool.h>

/* What a sampler wants to have listed. */
enum cgroup_mounts_kind { CGROUP_MOUNTS_THREADS, CGROUP_MOUNTS_PROCESSES };

/* What all jobs of a sampler share. */
struct cgroup_mounts {
    const char *root; /* borrowed */
    enum cgroup_mounts_kind kind;
    int proc_fd;
    struct children children;
    char *unified;  /* where v2 is mounted; NULL: it is not */
    char **mounts;  /* where v1 hierarchies are, those first that know most of a job; NULL ends the list */
    char *cpuacct;  /* the one of them with that controller; NULL: none */
    char *perf_event; /* where the v1 hierarchy of that controller is; NULL: it is not mounted, or is with v2 */
    unsigned kept, kept_max; /* descriptors */
    struct pidlist tids, queue; /* for descendants */
    struct pidmap found;
};

/* Finds the mounts below root. */
enum err cgroup_mounts_open(struct cgroup_mounts *groups, const char *root, enum cgroup_mounts_kind kind);
void cgroup_mounts_close(struct cgroup_mounts *groups);

/* Where perf events can be counted for cgroups: v1's own hierarchy, or v2. NULL: nowhere. */
const char *cgroup_mounts_perf(const struct cgroup_mounts *groups);

/* Keeps a descriptor when there is one left to be kept: then *kept is fd, which cgroup_mounts_release_fd closes. False: it is
 * the caller's to close, or it is -1. */
bool cgroup_mounts_keep_fd(struct cgroup_mounts *groups, int *kept, int fd);
void cgroup_mounts_release_fd(struct cgroup_mounts *groups, int *kept); /* sets it to -1; harmless when it is */

#endif
