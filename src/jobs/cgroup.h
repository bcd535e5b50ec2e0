/* Where the files of a process's control groups are: v1, v2 and both at once. */
#ifndef SONDE_JOBS_CGROUP_H
#define SONDE_JOBS_CGROUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH_MAX 2048

/* A folder of one hierarchy, seen from the root of the tree that it was read from. */
struct cgroup {
    bool unified;               /* v2 */
    char mount[CGROUP_PATH_MAX]; /* "/sys/fs/cgroup/memory" */
    char path[CGROUP_PATH_MAX];  /* below it: "/slurm/job_1", "" at the top */
};

/* The group of /proc/self in the hierarchy that has the v1 controller ("cpu", "memory"), or in the v2 hierarchy when
 * controller is NULL. ABSENT when there is none. */
enum err cgroup_find(const char *root, const char *controller, struct cgroup *cgroup);

/* Cuts the last part off the path. False at the top. */
bool cgroup_up(struct cgroup *cgroup);

/* Reads a file of the group into text. */
enum err cgroup_read(const char *root, const struct cgroup *cgroup, const char *file, char *text, size_t size);

/* The two parsers, on texts of /proc/self/cgroup and /proc/self/mountinfo; they take any text. */
enum err cgroup_parse_membership(const char *text, const char *controller, char path[CGROUP_PATH_MAX]);
enum err cgroup_parse_mount(const char *text, const char *controller, char mount[CGROUP_PATH_MAX],
                            char mount_root[CGROUP_PATH_MAX]);

#endif
