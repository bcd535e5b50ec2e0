/* Metrics by name. A name is brought into one form (metric_name.h), so that two spellings of a series are one metric;
 * and each metric gets a series of its own on /metrics, whatever names programs choose (families.h). A metric stays
 * until it is removed explicitly. This layer knows nothing of values, users or limits: it only carries the parts of a
 * metric that belong to cells.h, quota.h and program_samples.h, and never looks into them. */
#ifndef SONDE_APPMETRICS_METRIC_TABLE_H
#define SONDE_APPMETRICS_METRIC_TABLE_H

#include "base/vec.h"
#include "appmetrics/families.h"
#include "appmetrics/metric_name.h"
#include "appmetrics/quota.h"

#define METRIC_TABLE_MAX ((size_t)UINT32_MAX)
#define METRIC_SLOT_BYTES 1024u /* strings and exposed lines: a metric with more takes several slots of the quota */
#define METRIC_BOUNDS_MAX 512u  /* per histogram */

/* What a metric is, as a program describes it. */
struct metric_description {
    struct bytes name; /* with its labels */
    struct bytes doc, unit;
    enum program_kind kind;
    const double *bounds; /* histogram: rising */
    size_t bound_count;
    bool is_alias;       /* another name for an existing metric */
    /* Used by registry.c only: */
    struct scope *scope; /* scope of the program; NULL: the node */
    struct quota_owner *owner; /* alias: the owner of its metric. NULL: derived from the scope */
};

/* A name and where its labels begin: "base{labels}". */
struct series_name {
    const char *text;
    size_t size, base_size;
};

/* The values of a metric; owned by cells.c. */
struct metric_values {
    struct cell *node;                     /* the value over the whole node */
    LIST_HEAD(, cell) cells;               /* values of users and jobs, newest first */
    size_t cell_count;
    LIST_HEAD(, contribution) gauges;      /* what each live program has set a gauge to */
    bool is_stale;                         /* gauge values have to be computed again */
};

/* Names in samples where they differ from the metric's own; owned by program_samples.c. NULL: not needed yet. */
struct metric_sample_names {
    char *parts[2], **buckets;
};

struct program_metric {
    struct series_name name; /* "base{labels}" in canonical form (metric_name.h) */
    struct series_name page; /* "base{labels," as on /metrics, where the labels of a scope follow */
    const char *doc, *unit;
    enum program_kind kind;
    const double *bounds;
    size_t bound_count;
    bool is_alias;
    bool is_renamed;         /* samples too have the base name of the page, as a histogram exposes series of the other name */
    struct metric_family *family;
    TAILQ_ENTRY(program_metric) in_family;
    uint64_t hash;           /* hash of the name, valid in this process */
    size_t index;            /* position in metric_table.metrics */
    struct metric_values values;
    struct metric_sample_names sample_names;
    struct quota_entry quota;
};

struct metric_table {
    struct map by_name, by_page;
    struct families families;
    VEC(struct program_metric *) metrics; /* in the order of creation, except that free entries (NULL) are reused */
    VEC(size_t) free_indices; /* free entries of metrics */
    struct metric_name name;  /* result of the last metric_table_parse */
};

void metric_table_init(struct metric_table *table);
void metric_table_clear(struct metric_table *table); /* frees the metrics too */

/* NULL: there is no metric of this name, in any spelling. */
struct program_metric *metric_table_find(struct metric_table *table, struct bytes name);

/* The same for a name in canonical form. */
struct program_metric *metric_table_find_exact(const struct metric_table *table, struct bytes name);

/* Brings a name into canonical form, in table->name. *metric: the metric with this name; NULL: none. USAGE: the name is
 * empty; FULL: it is too long; NOMEM. */
enum err metric_table_parse(struct metric_table *table, struct bytes name, struct program_metric **metric);

/* The number of quota slots that a metric with the name in table->name would take. It depends on the size of its
 * strings, and of the lines that a histogram exposes, each with the whole name. */
size_t metric_table_slots(const struct metric_table *table, const struct metric_description *description);

/* Adds a metric with the name in table->name, which must be unused. FULL: its name on /metrics is too long; NOMEM. */
enum err metric_table_add(struct metric_table *table, const struct metric_description *description,
                          struct program_metric **metric);

/* Removes it from the table. The caller frees it when nothing borrows its strings any more. */
void metric_table_remove(struct metric_table *table, struct program_metric *metric);
void metric_table_free(struct program_metric *metric);

/* Do both have the same kind and the same bounds? */
bool metric_table_is_same(const struct program_metric *metric, const struct metric_description *description);

#endif
