/* A job on a node: whose it is, since when, what it may use, and where the kernel keeps its numbers. Made by jobs/jobs.c from
 * what the cgroup tree, a prolog or sonde run tells; on a collector by journal/stream.c, without what only the node needs. */
#ifndef SONDE_MODEL_JOB_H
#define SONDE_MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

enum job_event {
    JOB_BEGIN,
    JOB_CHANGE, /* more is known of it: user, limits, another cgroup, a step */
    JOB_END,    /* its numbers may be read for the last time: while the event is delivered its cgroup may still be there */
};

/* What somebody wants to know of its system calls. */
enum job_syscalls { JOB_SYSCALLS_NONE, JOB_SYSCALLS_COUNT, JOB_SYSCALLS_TIME };

/* Owned by the table of jobs, and valid until JOB_END was delivered. Texts are never NULL. */
struct job {
    const char *id;       /* as people type it: "4711" */
    const char *other_id; /* where the batch system has a second one (Slurm's SLUID); "": none */
    const char *source;   /* "slurm", "oar", "pbs", "told", "run" */
    const char *user;     /* "": not known */
    uint32_t uid;         /* UINT32_MAX: not known */
    uint64_t start_ns;    /* CLOCK_REALTIME */
    uint64_t end_ns;      /* 0: it runs */
    uint64_t cores_milli, memory_bytes; /* what it may use; 0: not known */
    const char *cgroup;   /* below the mount of each hierarchy: "/slurm/uid_0/job_4711"; "": it has none */
    bool unified;         /* cgroup is one of the v2 hierarchy; else of the v1 ones, the same in each controller */
    uint32_t pid;         /* the process whose descendants it is, where there is no cgroup; 0: none */
    enum job_syscalls syscalls; /* shall be counted */
    uint32_t slot;        /* small, unique among the jobs that run, used again afterwards: an index into arrays */
};

#endif
