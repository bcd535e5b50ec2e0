/* Limits of this process and its children: cores by affinity and cgroup quota, memory by cgroups and node. */
#ifndef SONDE_JOBS_LIMITS_H
#define SONDE_JOBS_LIMITS_H

#include "base/err.h"

#include <stdint.h>

/* 0: unknown or no limit. */
struct limits {
    uint64_t cores_milli;         /* the smaller of the next two; 1000 = one core */
    uint64_t affinity_cores;      /* online CPUs in the affinity mask */
    uint64_t quota_milli;         /* smallest CPU quota of the cgroup and its ancestors */
    uint64_t memory_bytes;        /* the smaller of the cgroup limit and the node's memory */
    uint64_t cgroup_memory_bytes; /* smallest memory limit of the cgroup and its ancestors */
    uint64_t address_space_bytes; /* RLIMIT_AS: per process, not for all together */
};

/* Reads the limits of /proc/self below root ("" or NULL: ourselves). What cannot be read stays unknown. */
void limits_read(const char *root, struct limits *limits);

#endif
