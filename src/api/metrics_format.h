/* The two formats of GET /metrics, and which one a client gets. */
#ifndef SONDE_API_METRICS_FORMAT_H
#define SONDE_API_METRICS_FORMAT_H

#include "base/buf.h"

enum metrics_format { METRICS_TEXT, METRICS_OPEN }; /* Prometheus text format, OpenMetrics */

/* By the Accept header of a request; empty: text. Accepts any bytes. */
enum metrics_format metrics_format_negotiate(struct bytes accept);

/* The value of Content-Type. */
const char *metrics_format_content_type(enum metrics_format format);

#endif
