/* The registry of program metrics: what programs publish through libsonde, the probes (segments.c) or as clients of tau
 * (compat/tau/server.c, in a thread of its own), summed over jobs, users and the node. Read by api/program_page.c for
 * /metrics, by api/program_json.c, and by program_samples.c. Whoever reads or changes anything in it holds the lock.
 *
 * It joins three layers that know nothing of one another: metrics by name (metric_table.h), values in scopes (scopes.h,
 * cells.h), and limits (quota.h). A metric is in use while a program reports it, a job has a value of it, or it is the
 * alias of another; an unused one stays for the pages until somebody needs its place. */
#ifndef SONDE_APPMETRICS_REGISTRY_H
#define SONDE_APPMETRICS_REGISTRY_H

#include "appmetrics/cells.h"

#include <pthread.h>

#define REGISTRY_METRICS_MAX 250000u /* default */
#define REGISTRY_ALIASES_MAX 6u
#define REGISTRY_ALIAS_SIZE 256

/* Another name under which a metric is served. */
struct metric_alias {
    char name[REGISTRY_ALIAS_SIZE], doc[REGISTRY_ALIAS_SIZE];
};

/* Which aliases a new counter has: fills list and returns how many. */
typedef size_t registry_aliases(const struct program_metric *metric, struct metric_alias list[REGISTRY_ALIASES_MAX]);

struct registry_settings {
    const char *host;      /* copied */
    size_t metrics_max;    /* 0: REGISTRY_METRICS_MAX */
    bool is_by_user;       /* programs of several users report here */
    bool looks_up_users;   /* somebody looks up names of users: scope_set_user */
    bool is_one_job;       /* all programs are of one job: its sums stay when programs end */
    registry_aliases *aliases; /* NULL: none */
};

struct registry_stats {
    size_t connections, segments;
    uint64_t messages;
    uint64_t left_out;     /* metrics and jobs over the limit */
    uint64_t refused;      /* metrics of two types, and values that no counter can take */
    uint64_t bad_segments;
    uint64_t unpublished;  /* metrics, and parts of them, for which their programs found no memory */
};

/* A metric that was refused because its name is in use with another type, or with other bounds. */
struct registry_conflict {
    char name[256];              /* cut; "": there was none */
    uint32_t uid;                /* of the program that was refused */
    enum program_kind kind, used_kind;
};

struct registry {
    pthread_mutex_t lock;
    struct metric_table metrics;
    struct scopes scopes;
    struct quota quota;
    registry_aliases *aliases;
    bool is_one_job;
    TAILQ_HEAD(, program_metric) evicted; /* by in_family; samples may still borrow their strings */
    struct registry_stats stats;
    struct registry_conflict conflict; /* the first one; whoever logs it empties it, to get the next */
    bool has_loaded_state, has_unsaved; /* saved_state.h */
};

enum err registry_open(struct registry **registry, const struct registry_settings *settings);
void registry_close(struct registry **registry);

void registry_lock(struct registry *registry);
void registry_unlock(struct registry *registry);

/* The metric, created if needed, or instead of an unused one of another type. USAGE: one of another type or with other
 * bounds is in use, or the name is empty; FULL: over the limit, or the name is too long (both counted); NOMEM. The
 * caller uses it (quota_use, registry_cell) before it creates another one. */
enum err registry_metric(struct registry *registry, const struct metric_description *description,
                         struct program_metric **metric);

/* Writes "level is a gauge in one program and a counter in another". */
void registry_conflict_write(struct buf *out, const struct registry_conflict *conflict);

/* The cell of a metric in a scope, created if needed with those above it. NULL: no memory, or the jobs of its user
 * have too many values (counted). */
struct cell *registry_cell(struct registry *registry, struct program_metric *metric, struct scope *scope);

/* Creates the cells that these contributions (NULL: none) would need in another scope. False: not all of them. */
bool registry_create_cells(struct registry *registry, struct contribution *const *contributions, size_t count,
                           struct scope *scope);

/* Before a program of this scope uses a metric that exists: FULL, if its user may not have so many (the caller counts
 * it). */
enum err registry_claim(struct registry *registry, struct program_metric *metric, struct scope *scope);

/* Frees a scope with its values. No program may be in it. What was counted in it stays in the scopes above it. */
void registry_drop_scope(struct registry *registry, struct scope *scope);

/* Frees evicted metrics. Samples that borrow their names must have been written. */
void registry_free_evicted(struct registry *registry);

#endif
