/* What programs tell of themselves, summed: over the node, over each job and, where an agent serves many users, over each of
 * them. compat/tau/server.c (a thread of its own) and segments.c put in what they hear; program_page.c shows it,
 * samples.c writes it. Whoever looks or changes holds the lock.
 *
 * A metric belongs to a family, which is kept in one piece because Prometheus wants it so; no page is ever sorted. */
#ifndef SONDE_APPMETRICS_TABLE_H
#define SONDE_APPMETRICS_TABLE_H

#include "appmetrics/metric_name.h"
#include "appmetrics/rank_sums.h"
#include "appmetrics/mpi_world.h"
#include "compat/tau/protocol.h"

#include <pthread.h>

#define PROGRAM_METRICS_MAX 250000u /* unless told otherwise */
#define PROGRAM_PLACE_BYTES 1024u   /* of a metric's texts and lines; what has more takes the place of several */
#define PROGRAM_USER_MAX 64
#define PROGRAM_REFUSED_MAX 256 /* bytes of a name that is told */
#define PROGRAM_BOUNDS_MAX 512u
#define PROGRAM_SCOPES_HASH 1024u
#define PROGRAM_PAGES_HASH 8192u
#define PROGRAM_JOBS_MAX 2000u /* of a user, that the agent does not know but by their programs */

enum program_kind { PROGRAM_COUNTER, PROGRAM_GAUGE, PROGRAM_HISTOGRAM };

/* A gauge over the programs that are alive and have set it; programs 0: nobody has. */
struct program_gauge {
    double sum, min, max;
    uint64_t programs;
};

/* What one program has told of one metric. */
struct program_hold {
    struct program_cell *cell;
    double value;     /* of a gauge; of a counter that is told as a whole, what it stood at last */
    double *buckets;  /* likewise */
    double base, *base_buckets; /* what of these is in cells where it was before; NULL: nothing. Freed with buckets */
    double outside, *outside_buckets; /* what of the base was in no job; likewise */
    bool is_set;
    struct program_hold *next, *previous; /* of the gauge */
};

/* The value of one metric in one scope. */
struct program_cell {
    struct program_metric *metric;
    struct program_scope *scope;
    struct program_cell *up;        /* what includes it: the user's, the node's; NULL: it is the node's */
    double total;                   /* of a counter; of a histogram the sum */
    uint64_t changed_ns;            /* CLOCK_REALTIME; 0: nobody has ever set it */
    struct program_cell **aliases;  /* that count what it counts, NULL ends the list; NULL: none */
    uint64_t sampled_ns;            /* when a sample of several cells was made at this one */
    bool is_dirty;                  /* changed since the samples were taken last */
    struct program_cell *next_dirty, *previous_dirty;
    struct program_cell *next, *previous;             /* of the metric; the node's is none of these */
    struct program_cell *next_in_scope, *previous_in_scope;
    struct program_gauge gauge;     /* valid after program_table_settle */
    struct program_gauge left;      /* over programs that have gone: what each had set last, for the profile of a job */
    struct program_hold shared;     /* of all who add to a counter, and need to remember nothing */
    double kept, *kept_buckets;     /* of a job: what of total and buckets is on no board any more (state.h) */
    double counted;                 /* of a job's system calls: total when the kernel's count was added last (syscalls.h) */
    bool begins_anew;               /* and its samples have not said yet that they begin at 0 again */
    double dumped;                  /* of a job's counter: the part of total that a profile already has */
    double *buckets;                /* of a histogram: how many fell into each, the last one above all bounds; behind them, */
                                    /* what their samples said last, all below included, and 1 more: 0 is none yet */
};

struct program_metric {
    struct program_family *family;
    struct program_metric *next_in_family, *previous_in_family, *next_in_hash, *next_in_pages;
    struct program_scope *owner;      /* a user who named it first, or the node */
    size_t uses;                      /* see quota.h; 0: it is idle, and stands in its owner's list */
    size_t places;                    /* of those that there are: 1, but for one with long texts or many buckets */
    struct program_metric *next_idle, *previous_idle;
    uint64_t hash;
    size_t index;                     /* in the table's list */
    enum program_kind kind;
    bool is_renamed;                  /* on the page, and in samples: a histogram shows, or would show, a name of another */
    bool is_alias;                    /* only served under this name too, nobody has told it */
    bool is_unsettled;                /* its gauge cells are to be summed anew */
    struct program_cell node, *cells; /* the node's; those of other scopes */
    size_t cell_count;                /* of the latter */
    struct program_hold *holds;       /* of a gauge */
    const double *bounds;             /* of a histogram */
    size_t bound_count;
    const char *doc, *unit;
    char *parts[2];                   /* names of its samples, where they are others than its own; NULL: not needed yet */
    char **bucket_names;              /* of a histogram's samples; NULL: not needed yet */
    const char *page;                 /* base{labels, */
    size_t name_size, base_size, page_size, page_base;
    char name[];                      /* base{labels}, then the other texts */
};

struct program_family {
    struct program_family *next, *previous, *next_in_hash;
    uint64_t hash;
    enum program_kind kind;
    struct program_metric *first, *last;
    size_t size;
    bool has_told;  /* a metric that is more than an alias */
    bool is_long;   /* a metric with a very long name is, or was, among them */
    char *doc;      /* of its metrics, as far as they agree: a copy of the first's, cut */
    size_t doc_size;
    char name[];    /* as on the page */
};

enum program_scope_kind { PROGRAM_NODE, PROGRAM_USER, PROGRAM_JOB };

/* The metrics of a user, and those of them that are idle, oldest first. Counted in places. */
struct program_room {
    size_t metric_count, idle_count;
    struct program_metric *idle, *last_idle;
};

/* Over what a cell sums. */
struct program_scope {
    enum program_scope_kind kind;
    char *job;                  /* its id; NULL: it is none */
    uint32_t uid;               /* of a job or user */
    char user[PROGRAM_USER_MAX]; /* "": not known (yet) */
    bool is_unnamed;            /* somebody looks the name up: on the page a series must not change its labels */
    unsigned lookups;           /* how often */
    size_t programs;            /* that are alive in it */
    uint64_t left_ns;           /* CLOCK_MONOTONIC: when the last program left */
    bool is_known;              /* the agent knows the job; a job that only its programs name goes with them */
    bool has_ended;             /* the agent knew it, and it is over: another of the same id begins at nothing */
    bool by_kernel;             /* its system calls are counted by the kernel: what boards say of them is a part of that */
    bool has_tau;               /* tau is set: what a program of tau has told of the job */
    bool is_dumped;             /* an agent before this one has written a profile of it */
    struct tau_job tau;
    struct program_cell *cells; /* not of the node */
    size_t cell_count;
    struct program_rank_sums ranks; /* of a job; of the node: of programs that are in none */
    struct program_worlds *worlds;  /* likewise; NULL: none yet */
    struct buf suffix;          /* host="n1",job="4711",user="ada"}_, _ being a blank */
    size_t job_count;           /* of a user: jobs that are scopes of their own */
    size_t job_cells;           /* of a user: values in these, in places */
    struct program_room room;   /* of a user, or the node */
    struct program_scope *next, *previous, *next_in_hash, *next_user;
};

/* What a metric is, as a program tells it. */
struct program_description {
    struct bytes name; /* with its labels */
    struct bytes doc, unit;
    enum program_kind kind;
    const double *bounds;
    size_t bound_count;
    bool is_alias;
    struct program_scope *scope; /* whose program tells it; NULL: the node's */
};

struct program_figures {
    size_t metrics, families, connections, boards;
    uint64_t messages, left_out, refused, bad_boards; /* left_out: metrics and jobs beyond the maximum */
    uint64_t no_room; /* metrics that their programs could not show, and threads' parts of them */
};

/* A metric that was not taken because its name is in use with another type, or with other bounds. */
struct program_refusal {
    char name[PROGRAM_REFUSED_MAX]; /* cut; "": there was none */
    uint32_t uid;                   /* whose program it was */
    enum program_kind kind, known;  /* as it came, and as it is there */
};

struct program_table_settings {
    const char *host;   /* copied */
    size_t metrics_max; /* 0: PROGRAM_METRICS_MAX */
    bool by_user;       /* several users' programs come here */
    bool names_users;   /* names of users are looked up */
    bool is_job;        /* all that is counted here is one job's: its sums stay when its programs have gone */
};

struct program_table {
    pthread_mutex_t lock;
    char *host;
    size_t metrics_max;
    bool by_user, names_users, is_job;
    struct program_scope node, *scopes, *users; /* users are scopes too */
    struct program_scope *scope_hash[PROGRAM_SCOPES_HASH];
    struct program_family *families, *last_family;
    struct program_family **family_hash;
    size_t family_room;
    struct program_metric **metrics; /* in the order of their coming, but for those in places that were free again */
    size_t metric_places;            /* of these in use; NULL: free */
    size_t *free_places;             /* a stack */
    size_t free_count;
    size_t metric_room;
    size_t place_count, idle_count;  /* of all metrics, in places */
    struct program_metric *buried;   /* quota.h */
    struct program_metric **metric_hash;
    size_t hash_room;
    struct program_metric *pages[PROGRAM_PAGES_HASH]; /* of page_names.c */
    struct program_cell *dirty;
    bool has_read_kept, has_news_to_keep; /* state.h */
    struct program_name name;        /* for parsing */
    struct program_figures figures;
    struct program_refusal refusal;  /* the first one; whoever tells it empties it, to have the next */
};

enum err program_table_open(struct program_table **table, const struct program_table_settings *settings);
void program_table_close(struct program_table **table);

void program_table_lock(struct program_table *table);
void program_table_unlock(struct program_table *table);

/* The metric, made when it is new; also in place of an idle one of another kind. USAGE: one of another kind, or with other
 * bounds, is in use, or its name is empty; FULL: there are too many, or the name is too long (both counted); NOMEM. */
enum err program_table_metric(struct program_table *table, const struct program_description *description,
                              struct program_metric **metric);

/* "level is a gauge of one program and a counter of another" */
void program_refusal_write(struct buf *out, const struct program_refusal *refusal);

/* NULL: there is none of this name, in whatever spelling. */
struct program_metric *program_table_find(struct program_table *table, struct bytes raw);

/* The same for a name as the table writes them. */
struct program_metric *program_table_exact(const struct program_table *table, struct bytes name);

/* Sums the gauges of a metric over its live programs, where something has changed. */
void program_table_settle(struct program_metric *metric);

/* For quota.c: takes a metric out of all lists, without its cells; frees it. */
void program_table_unlink(struct program_table *table, struct program_metric *metric);
void program_table_free(struct program_metric *metric);

uint64_t program_table_hash(struct bytes text);

#endif
