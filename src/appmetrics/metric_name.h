/* Names of what programs count, "x_total{a=\"b\"}", in the one form in which they are kept: whatever bytes a program sends, two
 * spellings of one series are one, and none can break the page on which it is shown. From compat/tau/server.c and segments.c
 * to table.c. */
#ifndef SONDE_APPMETRICS_METRIC_NAME_H
#define SONDE_APPMETRICS_METRIC_NAME_H

#include "base/buf.h"
#include "appmetrics/segment_format.h"

#define METRIC_NAME_MAX SEGMENT_NAME_MAX /* bytes; longer names are refused */
#define METRIC_LABELS_MAX 64u

struct metric_name {
    struct buf text;  /* base, or base{labels sorted by name, values escaped} */
    struct buf page;  /* base{labels, — as on /metrics, up to where our own labels follow */
    size_t base_size; /* in text */
    size_t page_base_size; /* in page: there "program_" may stand before it */
};

void metric_name_init(struct metric_name *name);
void metric_name_clear(struct metric_name *name);

/* Brings raw into the form. What is no name of Prometheus becomes one: its bad characters turn to '_', and the whole of raw
 * stands in the label program_name. USAGE: it is empty; FULL: it is too long. */
enum err metric_name_parse(struct metric_name *name, struct bytes raw);

#endif
