/* Whose job a program may speak for: the jobs that the agent knows, copied so that the gateway's thread can ask, and what the
 * kernel says of a process. Under the lock of the table of programs. */
#ifndef SONDE_APPMETRICS_PROGRAM_JOB_H
#define SONDE_APPMETRICS_PROGRAM_JOB_H

#include "model/job.h"
#include "appmetrics/table.h"

#include <sys/types.h>

struct program_jobs {
    const char *root; /* borrowed; "" is this machine */
    struct program_job *list;
    uint64_t places;  /* that jobs were given so far: cgroups and processes that may hold programs which speak already */
    size_t groups;    /* of those that run, jobs that were told with a cgroup: a process may be moved there at any time */
};

void program_jobs_clear(struct program_jobs *jobs);

/* What happened to a job of this node. */
void program_jobs_event(struct program_jobs *jobs, struct program_table *table, const struct job *job, enum job_event event);

/* A process that speaks. */
struct program_claim {
    pid_t pid;           /* as it says: believed if it is a process of uid, or uid is root. 0: not known, or gone */
    pid_t parent;        /* the same, for one that is gone: who made it. 0: not known */
    uint32_t uid;        /* of the process, or the owner of its board: as the kernel says */
    const char *job;     /* that it says it is in; "": none */
};

/* When it was asked last whether somebody is in a job. */
struct program_asked {
    uint64_t places, time_ns;
};

/* Has anything happened since that would make it worth asking again? Notes that it is asked now. */
bool program_jobs_are_new(const struct program_jobs *jobs, uint64_t now_ns, struct program_asked *asked);

/* Who says that it is in a job. */
enum program_word { PROGRAM_BY_NOBODY, PROGRAM_BY_KERNEL, PROGRAM_BY_ITSELF, PROGRAM_REFUSED /* it named another user's */ };

/* The same for one that is in scope, by somebody's word: it stays in the job that it has named if the agent knows that job. */
bool program_jobs_may_move(const struct program_jobs *jobs, const struct program_scope *scope, enum program_word word,
                           uint64_t now_ns, struct program_asked *asked);

/* The scope of the job that the kernel says it is in: by its cgroup, or as a descendant of the process that a job was told with.
 * NULL: of none that the agent knows. */
struct program_scope *program_jobs_placed(const struct program_jobs *jobs, struct program_table *table,
                                          const struct program_claim *claim);

/* The scope in which it counts: that one; else the job that it names, if that is its user's or nobody
 * else's; else its user, or the node; so too
 * where its user has too many jobs that nobody else knows (counted). NULL: no memory. */
struct program_scope *program_jobs_scope(const struct program_jobs *jobs, struct program_table *table,
                                         const struct program_claim *claim, enum program_word *word);

/* The scope of a job of this node; NULL: none of this name runs, or no memory. */
struct program_scope *program_jobs_named(const struct program_jobs *jobs, struct program_table *table, const char *id);

#endif
