/* GET /metrics: the latest samples of an agent or collector, in the Prometheus text format or OpenMetrics. */
#ifndef SONDE_API_METRICS_PAGE_H
#define SONDE_API_METRICS_PAGE_H

#include "api/metrics_format.h"
#include "base/buf.h"
#include "model/view.h"

/* Adds the whole page, with about series_max series at most: entries of nodes first, then facts of jobs, then
 * entries of jobs. A job or entry is written completely or not at all; sonde_series_left_out counts the rest. */
void metrics_page_write(struct buf *out, const struct view *view, enum metrics_format format, size_t series_max);

#endif
