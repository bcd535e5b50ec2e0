/* What a job's cgroup and the processes in it tell of the job: user, start, what it may use, its id. */
#ifndef SONDE_JOBS_CGROUP_FACTS_H
#define SONDE_JOBS_CGROUP_FACTS_H

#include "jobs/hierarchies.h"
#include "jobs/job_source.h"

struct cgroup_facts {
    bool has_processes;
    bool has_environment;               /* uid is that of a process with what the batch system gives to those of a job */
    uint32_t uid;                       /* UINT32_MAX: not known */
    uint64_t start_ns;                  /* no later than this; 0: not known */
    uint64_t cores_milli, memory_bytes; /* 0: not known, or no limit */
    char id[JOB_ID_MAX];                    /* as the batch system told the processes; "": not known */
    char user[JOB_SOURCE_NAME_MAX];
};

/* Of the group at path in the hierarchies of the set folders (a bit each). source may be NULL. What cannot be read stays
 * unknown. */
void cgroup_facts_read(struct cgroup_facts *facts, const struct hierarchies *hierarchies, const char *root,
                       uint32_t hierarchy_bits,
                       const char *path, const struct job_source *source);

/* Is there a process in the group or below? Cheaper than cgroup_facts_read. */
bool cgroup_facts_is_populated(const struct hierarchies *hierarchies, const char *root, uint32_t hierarchy_bits,
                               const char *path);

#endif
