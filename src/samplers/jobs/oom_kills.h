/* Processes of a v1 cgroup that the OOM killer has killed. The kernel counts each kill only in the cgroup of the process:
 * those of the steps and tasks below have to be added, and remembered when they are removed. v2 adds them itself. */
#ifndef SONDE_SAMPLERS_JOBS_OOM_KILLS_H
#define SONDE_SAMPLERS_JOBS_OOM_KILLS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct oom_kills {
    struct oom_kills_group {
        uint64_t hash; /* of its path */
        uint64_t kills;
    } *groups; /* with kills only */
    size_t count, capacity;
};

void oom_kills_clear(struct oom_kills *kills);

/* Reads memory.oom_control in directory and all below it. *total includes removed cgroups. ABSENT: the kernel does not count. */
enum err oom_kills_read(struct oom_kills *kills, const char *directory, uint64_t *total);

#endif
