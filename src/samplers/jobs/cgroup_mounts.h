/* What the samplers of jobs need to know of the node: where the cgroup hierarchies are mounted, v1 and v2, and how many
 * descriptors they may keep open. */
#ifndef SONDE_SAMPLERS_JOBS_CGROUP_MOUNTS_H
#define SONDE_SAMPLERS_JOBS_CGROUP_MOUNTS_H

#include "proc/children.h"
#include "proc/pidmap.h"

#include <stdbool.h>

/* What a sampler wants to have listed. */
enum job_groups_kind { JOB_GROUPS_THREADS, JOB_GROUPS_PROCESSES };

/* What all jobs of a sampler share. */
struct job_groups {
    const char *root; /* borrowed */
    enum job_groups_kind kind;
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
enum err job_groups_open(struct job_groups *groups, const char *root, enum job_groups_kind kind);
void job_groups_close(struct job_groups *groups);

/* Where perf events can be counted for cgroups: v1's own hierarchy, or v2. NULL: nowhere. */
const char *job_groups_of_perf(const struct job_groups *groups);

/* Keeps a descriptor when there is one left to be kept: then *kept is fd, which job_groups_release closes. False: it is
 * the caller's to close, or it is -1. */
bool job_groups_keep(struct job_groups *groups, int *kept, int fd);
void job_groups_release(struct job_groups *groups, int *kept); /* sets it to -1; harmless when it is */

#endif
