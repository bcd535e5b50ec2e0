/* Scopes: over what values are summed. The node includes its users, and a user the jobs of that user. Where a table
 * serves one user only, jobs are directly below the node. This layer keeps the tree and the labels that the series of
 * a scope have on /metrics; values are in cells.h. Everything under the registry's lock. */
#ifndef SONDE_APPMETRICS_SCOPES_H
#define SONDE_APPMETRICS_SCOPES_H

#include "base/buf.h"
#include "base/map.h"
#include "appmetrics/mpi_rank_sums.h"
#include "appmetrics/mpi_worlds.h"
#include "appmetrics/quota.h"

#define SCOPE_USER_MAX 64
#define SCOPE_NUMBER_MAX 16 /* bytes of a uid as a string */
#define SCOPE_JOBS_MAX 2000u /* per user: from then on, jobs that only programs name are refused */

enum scope_kind { SCOPE_NODE, SCOPE_USER, SCOPE_JOB };

/* The name of a scope's user, looked up by agent/program_metrics.c. */
struct scope_user {
    char name[SCOPE_USER_MAX]; /* "": unknown, or not looked up yet */
    bool is_pending; /* being looked up; not on /metrics until then, since a series must not change its labels */
    unsigned lookups; /* number of attempts */
};

/* State of a job's scope; unused in other scopes. */
struct scope_job {
    bool is_known;        /* the agent knows the job. If only programs name it, it is dropped when they have ended */
    bool has_ended;       /* the agent knew the job and it has ended: another job with the same id starts at 0 */
    bool counts_syscalls; /* the kernel counts the job's system calls, including those that programs report */
    bool is_profiled;     /* an earlier agent has written a profile of the job (compat/tau/profile.h) */
    struct tau_job *tau;  /* job description sent by a client of tau (compat/tau); NULL: none. Freed with the scope */
};

/* Sums over MPI ranks: in a job's scope those of the job, in the node's scope those of programs in no job. */
struct scope_mpi {
    struct mpi_rank_sums sums;
    struct mpi_worlds *worlds; /* NULL: no MPI program yet */
};

struct scope {
    struct scopes *tree;
    struct scope *parent;      /* the scope that includes this one; NULL: this is the node */
    enum scope_kind kind;
    uint32_t uid;              /* the user, or the owner of the job */
    char *id;                  /* job id; NULL: this is not a job */
    struct scope_user user;
    struct buf labels;         /* host="n1",job="4711",user="ada"} and a blank: the end of a series on /metrics */
    size_t programs;           /* number of live programs in this scope */
    uint64_t left_ns;          /* CLOCK_MONOTONIC: when the last program left */
    struct scope_job job;
    struct scope_mpi mpi;
    LIST_HEAD(, cell) cells;   /* its values, newest first; owned by cells.c */
    size_t cell_count;
    size_t job_count;          /* number of job scopes directly below this one */
    struct quota_owner quota;  /* used in the scope of a user */
    LIST_ENTRY(scope) link;
};

struct scopes {
    char *host;
    bool is_by_user;           /* each user has a scope */
    bool looks_up_users;       /* names of users are looked up: scope_set_user */
    struct scope node;
    LIST_HEAD(, scope) list;   /* users and jobs, newest first */
    struct map by_id;
    struct quota *quota;       /* borrowed; each user is one of its owners */
    LIST_HEAD(, cell) changed; /* values that have changed since the last samples; owned by cells.c */
};

/* host is copied. NOMEM. */
enum err scopes_init(struct scopes *scopes, const char *host, struct quota *quota, bool is_by_user, bool looks_up_users);
void scopes_clear(struct scopes *scopes); /* when no scope has cells any more */

/* Find or create a scope. NULL: no memory. scopes_user returns the node if users have no scopes (is_by_user). */
struct scope *scopes_user(struct scopes *scopes, uint32_t uid);
struct scope *scopes_job(struct scopes *scopes, const char *id, uint32_t uid);

/* NULL: there is no scope of this job. */
struct scope *scopes_find_job(const struct scopes *scopes, const char *id, uint32_t uid);

/* Frees a scope without cells and programs; never the node. */
void scope_free(struct scope *scope);

/* A program starts to count here, or stops. */
void scope_join(struct scope *scope);
void scope_leave(struct scope *scope);

/* The owner whose quota is charged for metrics that programs of the scope create: its user, or the shared owner.
 * scope NULL: the node. */
struct quota_owner *scope_owner(struct scopes *scopes, struct scope *scope);

/* The name of the scope's user. If it is unknown: the uid as a string, in number. */
const char *scope_user_name(const struct scope *scope, char number[SCOPE_NUMBER_MAX]);

/* Sets the name of the scope's user after the lookup. "": it has no name. */
void scope_set_user(struct scope *scope, const char *name);

/* Where the MPI ranks of programs in this scope are summed: in the job, or in the node if this is no job. */
struct scope_mpi *scope_mpi(struct scope *scope);

#endif
