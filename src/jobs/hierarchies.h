/* The cgroup hierarchies of this node (v1, v2 or both) and the files in them. */
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
    uint8_t of[CONTROLLERS]; /* the v1 hierarchy of each controller, or HIERARCHY_NONE */
    uint8_t unified;         /* the v2 hierarchy, or HIERARCHY_NONE */
};

/* Reads /proc/self/mountinfo below root or, if that is missing, the directories below /sys/fs/cgroup. ABSENT: there are
 * none. hierarchies_clear must be called in any case. */
enum err hierarchies_read(struct hierarchies *hierarchies, const char *root);
void hierarchies_clear(struct hierarchies *hierarchies);

/* Reads a file of the cgroup at path in a hierarchy; ABSENT for HIERARCHY_NONE. */
enum err hierarchies_file(const struct hierarchies *hierarchies, const char *root, size_t hierarchy, const char *path,
                          const char *file, char *text, size_t size);

/* The full path of it, including root. USAGE: it does not fit. file may be "". */
enum err hierarchies_path(const struct hierarchies *hierarchies, const char *root, size_t hierarchy, const char *path,
                          const char *file, char *out, size_t size);

#endif
