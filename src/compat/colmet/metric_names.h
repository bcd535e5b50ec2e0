/* Lists of metrics as Colmet's Rust line takes them, "rss:2:-1,cache_ll": from a message or an option to the perf events in it,
 * and to what cannot be done. */
#ifndef SONDE_COMPAT_COLMET_METRIC_NAMES_H
#define SONDE_COMPAT_COLMET_METRIC_NAMES_H

#include "base/buf.h"

#include <stdbool.h>

struct colmet_metrics {
    struct buf events;  /* "cache_ll,page_faults": perf events; "memory" and "cpu" are read anyway */
    struct buf unknown; /* "foo, bar": names that neither Colmet nor this machine knows */
    bool has_parts;     /* one has a period or a job of its own, which is not known here */
};

/* Takes any bytes; ',' or blanks between. Cleared by colmet_metrics_clear. */
void colmet_metrics_read(struct colmet_metrics *metrics, struct bytes list);
void colmet_metrics_clear(struct colmet_metrics *metrics);

#endif
