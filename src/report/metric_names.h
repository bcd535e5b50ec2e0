/* Metric names as users type them, and which metrics they match. */
#ifndef SONDE_REPORT_METRIC_NAMES_H
#define SONDE_REPORT_METRIC_NAMES_H

#include "report/metric_list.h"

/* Adds name with quotes around its label values, which the shell has removed: a{b=c,d=e} becomes a{b="c",d="e"}. */
void metric_names_quote(struct buf *out, const char *name);

/* Copies of the names, quoted; NULL-terminated. NULL: out of memory. */
char **metric_names_quoted(char *const *names, int count);
void metric_names_free(char ***names);

/* The next of "A,B{c=\"d\",e=\"f\"}": commas in braces do not separate. Advances *rest; false: no more. */
bool metric_names_next(const char **rest, struct buf *name);

/* Does name, which is quoted, match the metric: its full name in any spelling, the part before its labels, or a pattern
 * with * and ? */
bool metric_names_match(const char *name, const char *metric);

bool metric_names_is_pattern(const char *name);

/* Adds "name=" and the name in URL encoding. */
void metric_names_add_query(struct buf *out, const char *name);

#endif
