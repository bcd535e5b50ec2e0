/* The cgroup hierarchies of this machine: v1 ones, the v2 one, or both; and the files in them. */
#ifndef SONDE_JOBS_HIERARCHIES_H
#define SONDE_JOBS_HIERARCHIES_H

#include "base/err.h"
#include "jobs/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIERARCHIES_MAX 16
#define HIERARCHY_NONE HIERARCHIES_MAX

enum cgroup_controller {
    CONTROLLER_CPU, CONTROLLER_CPUACCT, CONTROLLER_CPUSET, CONTROLLER_MEMORY, CONTROLLER_BLKIO, CONTROLLER_PIDS,
    CONTROLLER_FREEZER, CONTROLLER_DEVICES, CONTROLLER_PERF_EVENT, CONTROLLERS
};

struct hierarchies {
    size_t count;
    struct hierarchy {
        bool unified;
        char *mount; /* owned: "/sys/fs/cgroup/memory" */
    } list[HIERARCHIES_MAX];
    uint8_t of[CONTROLLERS]; /* the v1 hierarchy that has the controller, or HIERARCHY_NONE */
    uint8_t unified;         /* the v2 hierarchy, or HIERARCHY_NONE */
};

/* From /proc/self/mountinfo below root; where that is missing, from the folders below /sys/fs/cgroup. ABSENT: there are
 * none. Cleared by hierarchies_clear in any case. */
enum err hierarchies_read(struct hierarchies *hierarchies, const char *root);
void hierarchies_clear(struct hierarchies *hierarchies);

/* Reads a file of the group at path in a hierarchy; ABSENT for HIERARCHY_NONE. */
enum err hierarchies_file(const struct hierarchies *hierarchies, const char *root, size_t hierarchy, const char *path,
                          const char *file, char *text, size_t size);

/* The whole path of it, below root. USAGE when it does not fit. file may be "". */
enum err hierarchies_path(const struct hierarchies *hierarchies, const char *root, size_t hierarchy, const char *path,
                          const char *file, char *out, size_t size);

#endif
