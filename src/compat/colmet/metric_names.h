/* Parses metric lists of Colmet's Rust version, "rss:2:-1,cache_ll", from a message or an option: extracts the perf
 * events, and what is not supported. */
#ifndef SONDE_COMPAT_COLMET_METRIC_NAMES_H
#define SONDE_COMPAT_COLMET_METRIC_NAMES_H

#include "base/buf.h"

#include <stdbool.h>

struct colmet_metrics {
    struct buf events;  /* "cache_ll,page_faults": perf events; memory and cpu are always sampled */
    struct buf unknown; /* "foo, bar": names that neither Colmet nor this kernel knows */
    bool has_parts;     /* one has its own period or job, which is not supported */
};

/* Accepts any bytes; names are separated by commas or spaces. Free with colmet_metrics_clear. */
void colmet_metrics_read(struct colmet_metrics *metrics, struct bytes list);
void colmet_metrics_clear(struct colmet_metrics *metrics);

#endif
