/* Families of metrics: what Prometheus calls by one name, with one type and one help string, and wants in one piece on
 * /metrics. A counter and a gauge "x" of two programs are two families, "x" and "x_gauge"; so are a histogram "h",
 * which exposes h_bucket, h_sum and h_count, and a counter "h_count". Part of metric_table.h. */
#ifndef SONDE_APPMETRICS_FAMILIES_H
#define SONDE_APPMETRICS_FAMILIES_H

#include "base/buf.h"
#include "base/map.h"

#include <sys/queue.h>

struct program_metric;

enum program_kind { PROGRAM_COUNTER, PROGRAM_GAUGE, PROGRAM_HISTOGRAM };

struct metric_family {
    enum program_kind kind;
    bool is_long;       /* has or had a metric with a very long name */
    char *doc;          /* common prefix of the docs of its metrics: a copy of the first doc, valid up to doc_size */
    size_t doc_size;
    TAILQ_HEAD(, program_metric) metrics;
    TAILQ_ENTRY(metric_family) link;
    size_t name_size;
    char name[];        /* as on /metrics */
};

struct families {
    struct map by_name;
    TAILQ_HEAD(, metric_family) list; /* in the order of creation, as on /metrics */
};

void families_init(struct families *families);
void families_clear(struct families *families);

/* NULL: there is none of this name. */
struct metric_family *families_find(const struct families *families, struct bytes name);

/* Is the name that of a family, or of a series that a histogram exposes? */
bool families_has_series(const struct families *families, struct bytes name);

/* Is the name a series of an existing histogram, or would a new histogram of this name expose a series that another
 * family has? */
bool families_has_conflict(const struct families *families, struct bytes name, enum program_kind kind);

/* The family for a metric, created if needed. The first *base_size bytes of page are its name. If another family has
 * the name, "_counter", "_gauge" or "_histogram" is inserted there and *base_size grows. NULL: no memory. */
struct metric_family *families_get(struct families *families, struct buf *page, size_t *base_size, enum program_kind kind);

void families_add_metric(struct metric_family *family, struct program_metric *metric);
void families_remove_metric(struct families *families, struct program_metric *metric); /* the last one removes the family */

/* Removes the family if it has no metrics. */
void families_remove_empty(struct families *families, struct metric_family *family);

#endif
