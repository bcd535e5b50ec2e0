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
#define SCOPE_JOBS_MAX 2000u /* of a user, that only programs have named */

enum scope_kind { SCOPE_NODE, SCOPE_USER, SCOPE_JOB };

/* The name of the user of a scope, which somebody looks up (agent/program_metrics.c). */
struct scope_user {
    char name[SCOPE_USER_MAX]; /* "": unknown, or unknown yet */
    bool is_pending; /* it is being looked up: not on /metrics yet, since a series must not change its labels */
    unsigned lookups;
};

/* Of a job. */
struct scope_job {
    bool is_known;        /* to the agent. A job that only programs have named is dropped after them */
    bool has_ended;       /* it was known to the agent: another one of the same id starts at 0 */
    bool counts_syscalls; /* the kernel counts its system calls: what programs report of them is part of that */
    bool is_profiled;     /* an earlier agent has written a profile of it (compat/tau/profile.h) */
    struct tau_job *tau;  /* what a client of tau has sent of the job; NULL: nothing. Of compat/tau, freed with the scope */
};

/* What MPI ranks did, in a job; in the node, those in no job. */
struct scope_mpi {
    struct mpi_rank_sums sums;
    struct mpi_worlds *worlds; /* NULL: none yet */
};

struct scope {
    struct scopes *tree;
    struct scope *parent;      /* that includes it; NULL: it is the node */
    enum scope_kind kind;
    uint32_t uid;              /* of a user, or the owner of a job */
    char *id;                  /* of a job; NULL: it is none */
    struct scope_user user;
    struct buf labels;         /* host="n1",job="4711",user="ada"} and a blank: the end of a series on /metrics */
    size_t programs;           /* that are alive in it */
    uint64_t left_ns;          /* CLOCK_MONOTONIC: when the last one left */
    struct scope_job job;
    struct scope_mpi mpi;
    LIST_HEAD(, cell) cells;   /* its values, newest first; of cells.c */
    size_t cell_count;
    size_t job_count;          /* scopes of jobs below it */
    struct quota_owner quota;  /* of a user */
    LIST_ENTRY(scope) link;
};

struct scopes {
    char *host;
    bool is_by_user;           /* users have scopes */
    bool looks_up_users;       /* names of users will come */
    struct scope node;
    LIST_HEAD(, scope) list;   /* users and jobs, newest first */
    struct map by_id;
    struct quota *quota;       /* borrowed; of which users are owners */
    LIST_HEAD(, cell) changed; /* values that have changed since the last samples; of cells.c */
};

/* host is copied. NOMEM. */
enum err scopes_init(struct scopes *scopes, const char *host, struct quota *quota, bool is_by_user, bool looks_up_users);
void scopes_clear(struct scopes *scopes); /* when no scope has cells any more */

/* Finds or creates. NULL: no memory. The scope of a user is the node if there are no users. */
struct scope *scopes_user(struct scopes *scopes, uint32_t uid);
struct scope *scopes_job(struct scopes *scopes, const char *id, uint32_t uid);

/* NULL: there is no scope of this job. */
struct scope *scopes_find_job(const struct scopes *scopes, const char *id, uint32_t uid);

/* Frees a scope without cells and programs; never the node. */
void scope_free(struct scope *scope);

/* A program starts to count here, or stops. */
void scope_join(struct scope *scope);
void scope_leave(struct scope *scope);

/* Who pays for the metrics that programs of the scope create: its user. NULL: the node. */
struct quota_owner *scope_owner(struct scopes *scopes, struct scope *scope);

/* The name of its user; the uid, which is written to number, where the name is unknown. */
const char *scope_user_name(const struct scope *scope, char number[SCOPE_NUMBER_MAX]);

/* The name of its user is known now. "": it is not. */
void scope_set_user(struct scope *scope, const char *name);

/* Where ranks of programs of this scope are summed: jobs by themselves, all others with the node. */
struct scope_mpi *scope_mpi(struct scope *scope);

#endif
