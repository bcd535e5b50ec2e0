/* A job on a node: its owner, start, limits and cgroup. Created by jobs/jobs.c from the cgroup tree, a prolog or sonde run; on
 * a collector by journal/stream.c, without the fields that only the node needs. */
#ifndef SONDE_MODEL_JOB_H
#define SONDE_MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

enum job_event {
    JOB_BEGIN,
    JOB_CHANGE, /* something changed or became known: user, limits, cgroup, steps */
    JOB_END,    /* last chance to read its counters: the cgroup may still exist while the event is delivered */
};

/* How its system calls are to be measured. */
enum job_syscalls { JOB_SYSCALLS_NONE, JOB_SYSCALLS_COUNT, JOB_SYSCALLS_TIME };

/* Owned by the job table and valid until JOB_END was delivered. Strings are never NULL. */
struct job {
    const char *id;       /* as users type it: "4711" */
    const char *other_id; /* a second id of the batch system (Slurm's SLUID); "": none */
    const char *source;   /* "slurm", "oar", "pbs", "told", "run" */
    const char *user;     /* "": unknown */
    uint32_t uid;         /* UINT32_MAX: unknown */
    uint64_t start_ns;    /* CLOCK_REALTIME */
    uint64_t end_ns;      /* 0: still running */
    uint64_t cores_milli, memory_bytes; /* limits; 0: unknown */
    const char *cgroup;   /* relative to the mount of each hierarchy: "/slurm/uid_0/job_4711"; "": none */
    bool unified;         /* cgroup is in the v2 hierarchy; false: in v1, the same path for each controller */
    uint32_t pid;         /* without a cgroup: the job is this process and its descendants; 0: none */
    enum job_syscalls syscalls; /* to be measured */
    uint32_t slot;        /* index into arrays: small, unique among running jobs, reused later */
};

#endif
