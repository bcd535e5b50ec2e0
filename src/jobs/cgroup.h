/* Finds the cgroup of this process: v1, v2 and hybrid. */
#ifndef SONDE_JOBS_CGROUP_H
#define SONDE_JOBS_CGROUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH_MAX 2048

/* A directory in one hierarchy, relative to the root that it was read from. */
struct cgroup {
    bool unified;               /* v2 */
    char mount[CGROUP_PATH_MAX]; /* "/sys/fs/cgroup/memory" */
    char path[CGROUP_PATH_MAX];  /* relative to mount: "/slurm/job_1"; "" for the top */
};

/* The cgroup of /proc/self in the hierarchy of a v1 controller ("cpu", "memory"), or in v2 if controller is NULL.
 * ABSENT: there is none. */
enum err cgroup_find(const char *root, const char *controller, struct cgroup *cgroup);

/* Moves to the parent. False at the top. */
bool cgroup_up(struct cgroup *cgroup);

/* Reads a file of the cgroup into text. */
enum err cgroup_read(const char *root, const struct cgroup *cgroup, const char *file, char *text, size_t size);

/* The parsers of /proc/self/cgroup and /proc/self/mountinfo; they accept any text. */
enum err cgroup_parse_membership(const char *text, const char *controller, char path[CGROUP_PATH_MAX]);
enum err cgroup_parse_mount(const char *text, const char *controller, char mount[CGROUP_PATH_MAX],
                            char mount_root[CGROUP_PATH_MAX]);

#endif
