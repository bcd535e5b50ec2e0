/* GET /metrics: what an agent or a collector holds, in Prometheus's text format or in OpenMetrics. */
#ifndef SONDE_API_METRICS_PAGE_H
#define SONDE_API_METRICS_PAGE_H

#include "model/view.h"
#include "base/buf.h"

enum metrics_format { METRICS_TEXT, METRICS_OPEN };

/* By the Accept header of a request; empty: text. Takes any bytes. */
enum metrics_format metrics_format_negotiate(struct bytes accept);

/* For Content-Type. */
const char *metrics_format_content_type(enum metrics_format format);

/* Adds the whole exposition. At most about series_max series: the entries of nodes come first, then what jobs are,
 * then their entries, in the order of their coming; a job and an entry are shown whole or not at all; how many series were
 * left out is told too. */
void metrics_page_write(struct buf *out, const struct view *view, enum metrics_format format, size_t series_max);

#endif
