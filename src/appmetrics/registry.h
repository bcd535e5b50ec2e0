/* The registry of program metrics: what programs publish through libsonde, the probes (segments.c) or as clients of tau
 * (compat/tau/server.c, in a thread of its own), summed over jobs, users and the node. Read by api/program_page.c for
 * /metrics, by api/program_json.c, and by program_samples.c. All access needs the lock.
 *
 * It joins three layers that know nothing of one another: metrics by name (metric_table.h), values in scopes (scopes.h,
 * cells.h), and limits (quota.h). A metric is in use while a program reports it, a job has a value of it, or it is the
 * alias of another. An unused one is still served, until its slots are needed (quota.h). */
#ifndef SONDE_APPMETRICS_REGISTRY_H
#define SONDE_APPMETRICS_REGISTRY_H

#include "appmetrics/cells.h"
#include "appmetrics/user_budgets.h"

#include <pthread.h>

#define REGISTRY_METRICS_MAX 250000u /* default */
#define REGISTRY_ALIASES_MAX 6u
#define REGISTRY_ALIAS_SIZE 256

/* Another name under which a metric is served. */
struct metric_alias {
    char name[REGISTRY_ALIAS_SIZE], doc[REGISTRY_ALIAS_SIZE];
};

/* Fills list with the aliases of a new counter, and returns their number. */
typedef size_t registry_aliases(const struct program_metric *metric, struct metric_alias list[REGISTRY_ALIASES_MAX]);

struct registry_settings {
    const char *host;      /* copied */
    size_t metrics_max;    /* 0: REGISTRY_METRICS_MAX */
    bool is_by_user;       /* programs of several users report here */
    bool looks_up_users;   /* names of users are looked up by the caller: scope_set_user */
    bool is_one_job;       /* all programs belong to one job (sonde run): its sums stay when programs end */
    registry_aliases *aliases; /* NULL: none */
};

struct registry_stats {
    size_t connections, segments;
    uint64_t messages;
    uint64_t left_out;     /* metrics and jobs refused because of a limit */
    uint64_t refused;      /* metrics whose name is in use with another type, and invalid counter values */
    uint64_t bad_segments; /* damaged segments */
    uint64_t unpublished;  /* metrics, or parts of them, for which a program had no space in its segment */
};

/* A metric that was refused because its name is in use with another type, or with other bounds. */
struct registry_conflict {
    char name[256];              /* truncated; "": no conflict */
    uint32_t uid;                /* user of the program whose metric was refused */
    enum program_kind kind, used_kind; /* refused, and in use */
};

struct registry {
    pthread_mutex_t lock;
    struct metric_table metrics;
    struct scopes scopes;
    struct quota quota;
    struct user_budgets budgets; /* of segments and clients of tau; has its own lock */
    registry_aliases *aliases;
    bool is_one_job;
    bool hides_aliased;    /* metrics with aliases are listed under these only: as tau's proxy */
    TAILQ_HEAD(, program_metric) evicted; /* linked by in_family; samples may still borrow their strings */
    struct registry_stats stats;
    struct registry_conflict conflict; /* the first one since it was logged; the caller that logs it clears it */
    bool has_loaded_state; /* the state of an earlier agent was loaded (saved_state.h) */
    bool has_unsaved;      /* something has changed since it was saved */
};

enum err registry_open(struct registry **registry, const struct registry_settings *settings);
void registry_close(struct registry **registry);

void registry_lock(struct registry *registry);
void registry_unlock(struct registry *registry);

/* Finds or creates a metric; replaces an unused one of another type. USAGE: the name is empty, or in use with another
 * type or other bounds; FULL: over the limit, or the name is too long (both counted in stats); NOMEM. The caller must
 * use it (quota_use, registry_cell) before it creates another one, which could evict it. */
enum err registry_metric(struct registry *registry, const struct metric_description *description,
                         struct program_metric **metric);

/* Writes "level is a gauge in one program and a counter in another". */
void registry_conflict_write(struct buf *out, const struct registry_conflict *conflict);

/* Finds or creates the cell of a metric in a scope, and the cells above it. NULL: no memory, or the jobs of the user
 * have too many values (counted in stats). */
struct cell *registry_cell(struct registry *registry, struct program_metric *metric, struct scope *scope);

/* Creates the cells that these contributions (entries may be NULL) need in another scope. False: some could not be
 * created. */
bool registry_create_cells(struct registry *registry, struct contribution *const *contributions, size_t count,
                           struct scope *scope);

/* Call before a program of this scope uses an existing metric. FULL: its user has reached the limit (not counted in
 * stats: the caller does that). */
enum err registry_claim(struct registry *registry, struct program_metric *metric, struct scope *scope);

/* Frees a scope with its values. It must have no live programs. Its counts remain included in the scopes above it. */
void registry_drop_scope(struct registry *registry, struct scope *scope);

/* Frees evicted metrics. Samples that borrow their names must have been written. */
void registry_free_evicted(struct registry *registry);

#endif
