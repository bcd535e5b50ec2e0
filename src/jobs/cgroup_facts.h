/* Facts of a job from its cgroup and the processes in it: user, start, limits, id. */
#ifndef SONDE_JOBS_CGROUP_FACTS_H
#define SONDE_JOBS_CGROUP_FACTS_H

#include "jobs/hierarchies.h"
#include "jobs/job_source.h"

struct cgroup_facts {
    bool has_processes;
    bool has_environment;               /* uid is of a process with the variables that the batch system sets for a
                                         * job */
    uint32_t uid;                       /* UINT32_MAX: unknown */
    uint64_t start_ns;                  /* upper bound of the start time; 0: unknown */
    uint64_t cores_milli, memory_bytes; /* 0: unknown or no limit */
    char id[JOB_ID_MAX];                    /* as in the environment or the process title; "": unknown */
    char user[JOB_SOURCE_NAME_MAX];
};

/* Reads the facts of the cgroup at path in the given hierarchies (one bit each). source may be NULL. What cannot be
 * read stays unknown. */
void cgroup_facts_read(struct cgroup_facts *facts, const struct hierarchies *hierarchies, const char *root,
                       uint32_t hierarchy_bits,
                       const char *path, const struct job_source *source);

/* Is there a process in the cgroup or below? Cheaper than cgroup_facts_read. */
bool cgroup_facts_is_populated(const struct hierarchies *hierarchies, const char *root, uint32_t hierarchy_bits,
                               const char *path);

#endif
