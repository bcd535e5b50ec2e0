/* Sparklines: a timeline in one line of text, and the time axis below it. */
#ifndef SONDE_REPORT_SPARK_H
#define SONDE_REPORT_SPARK_H

#include "report/terminal.h"

/* Adds width columns, one per value, with heights from 0 to max. NAN: a space. */
void spark_add(struct buf *out, const struct terminal *terminal, const double *values, size_t width, double max,
               enum colour colour);

/* Adds width columns of time marks: 0, 1/4, 1/2, 3/4 and all of duration_s (fewer if they do not fit). */
void spark_axis(struct buf *out, size_t width, double duration_s);

#endif
