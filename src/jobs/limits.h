/* What this process and its children may use: cores by affinity and cgroup quota, memory by cgroups and what the node
 * has. */
#ifndef SONDE_JOBS_LIMITS_H
#define SONDE_JOBS_LIMITS_H

#include "base/err.h"

#include <stdint.h>

/* 0 in any of them: not known, or no such limit. */
struct limits {
    uint64_t cores_milli;         /* the smaller of the two below; 1000 = one core */
    uint64_t affinity_cores;      /* online CPUs that the affinity allows */
    uint64_t quota_milli;         /* smallest CPU quota on the way up the cgroups */
    uint64_t memory_bytes;        /* the smaller of the cgroups' and the node's */
    uint64_t cgroup_memory_bytes; /* smallest memory limit on the way up the cgroups */
    uint64_t address_space_bytes; /* RLIMIT_AS: of each process, not of all together */
};

/* Of the process /proc/self below root ("" or NULL: ourselves). What cannot be read stays unknown. */
void limits_read(const char *root, struct limits *limits);

#endif
