/* Names of program metrics, "x_total{a=\"b\"}", in one canonical form: two spellings of a series are one, and whatever
 * bytes a program sends, they cannot break the page on which it is exposed. For metric_table.c. */
#ifndef SONDE_APPMETRICS_METRIC_NAME_H
#define SONDE_APPMETRICS_METRIC_NAME_H

#include "base/buf.h"
#include "appmetrics/segment_format.h"

#define METRIC_NAME_MAX SEGMENT_NAME_MAX /* bytes; longer ones are refused */
#define METRIC_LABELS_MAX 64u

struct metric_name {
    struct buf text;  /* "base", or "base{labels}": labels sorted by name, values escaped */
    struct buf page;  /* "base{labels,": as on /metrics, where our own labels follow */
    size_t base_size; /* in text */
    size_t page_base_size; /* in page, where the base may begin with "program_" */
};

void metric_name_init(struct metric_name *name);
void metric_name_clear(struct metric_name *name);

/* Brings raw into the canonical form. What is no valid name for Prometheus becomes one: bad characters turn into '_',
 * and the label program_name has the whole of raw. USAGE: it is empty; FULL: it is too long. */
enum err metric_name_parse(struct metric_name *name, struct bytes raw);

#endif
