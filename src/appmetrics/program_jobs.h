/* Which job a program belongs to: by what the kernel says of its process (cgroup, ancestors), or by the job that it
 * names in its environment or in a message, if that is its own user's. Has a copy of the jobs that the agent knows, so
 * that the thread of tau's server can use it. Under the registry's lock. */
#ifndef SONDE_APPMETRICS_PROGRAM_JOBS_H
#define SONDE_APPMETRICS_PROGRAM_JOBS_H

#include "model/job.h"
#include "appmetrics/registry.h"

#include <sys/types.h>

struct program_jobs {
    const char *root;         /* directory that contains /proc, borrowed; "": this node */
    struct program_job *list;
    uint64_t changes;         /* cgroups and processes added to jobs so far; running programs may belong to them */
    size_t cgroup_count;      /* running jobs that were declared with a cgroup: a process may be moved there at any time */
};

void program_jobs_clear(struct program_jobs *jobs);

/* A job of this node started, changed or ended. */
void program_jobs_update(struct program_jobs *jobs, struct registry *registry, const struct job *job, enum job_event event);

/* What is known of a program. */
struct program_claim {
    pid_t pid;           /* by its own account: believed if it is a process of uid, or uid is root. 0: unknown, or it has ended */
    pid_t parent;        /* the same for its parent, if it has ended. 0: unknown */
    uint32_t uid;        /* of the process, or of the owner of its segment: from the kernel */
    const char *job;     /* job id that it names; "": none */
};

/* When the job of a program was last looked up. */
struct program_job_check {
    uint64_t changes, time_ns;
};

/* May a lookup have another result now? Notes that one is made. */
bool program_jobs_have_changed(const struct program_jobs *jobs, uint64_t now_ns, struct program_job_check *check);

/* How the job of a program is known. */
enum program_job_source {
    PROGRAM_JOB_NONE,      /* it is in none */
    PROGRAM_JOB_BY_KERNEL, /* by its cgroup, or as a descendant of a process of the job */
    PROGRAM_JOB_BY_NAME,   /* it has named the job */
    PROGRAM_JOB_REFUSED,   /* it has named a job of another user */
};

/* The same for a program in this scope. It stays in a job that it has named if the agent knows the job. */
bool program_jobs_must_check(const struct program_jobs *jobs, const struct scope *scope, enum program_job_source source,
                             uint64_t now_ns, struct program_job_check *check);

/* The scope of the job in which it is by the kernel's account; NULL: it is in none that the agent knows. */
struct scope *program_jobs_kernel_scope(const struct program_jobs *jobs, struct registry *registry,
                                        const struct program_claim *claim);

/* The scope in which it counts: the one above; else that of the job that it names, unless the job is another user's or
 * its user has too many jobs that only programs have named (counted); else that of its user, or the node. NULL: no
 * memory. */
struct scope *program_jobs_scope(const struct program_jobs *jobs, struct registry *registry, const struct program_claim *claim,
                                 enum program_job_source *source);

/* The scope of a running job of this node; NULL: there is none of this id, or no memory. */
struct scope *program_jobs_scope_of_id(const struct program_jobs *jobs, struct registry *registry, const char *id);

#endif
