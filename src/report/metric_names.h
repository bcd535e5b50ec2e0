/* Names of metrics as people type them, and which metrics they mean. */
#ifndef SONDE_REPORT_METRIC_NAMES_H
#define SONDE_REPORT_METRIC_NAMES_H

#include "report/metric_list.h"

/* Adds name with quotes around the values of its labels where a shell took them away: a{b=c,d=e} becomes a{b="c",d="e"}. */
void metric_names_quote(struct buf *out, const char *name);

/* Each of count names, quoted; NULL behind the last. NULL: memory ran out. */
char **metric_names_quoted(char *const *names, int count);
void metric_names_free(char ***names);

/* The next of "A,B{c=\"d\",e=\"f\"}": commas in braces part nothing. *rest moves on; false: there is none. */
bool metric_names_next(const char **rest, struct buf *name);

/* Is the metric meant? By its whole name in any spelling, by what stands before its labels, or by a pattern with * and ?; name is
 * quoted. */
bool metric_names_fit(const char *name, const char *metric);

bool metric_names_is_pattern(const char *name);

/* Adds "name=" with all that a URL cannot have written as %XX. */
void metric_names_add_query(struct buf *out, const char *name);

#endif
