/* Fields of a CSV file (RFC 4180), any bytes in: commas, quotes and line ends are quoted; what is not UTF-8, and NUL, is
 * written as \xNN, so that the file is UTF-8 whatever it holds. (JSON keeps such bytes exactly.) */
#ifndef SONDE_SINKS_CSV_CSV_H
#define SONDE_SINKS_CSV_CSV_H

#include "base/buf.h"
#include "model/metric.h"

/* The text of a field, without the comma before it. */
void csv_add_text(struct buf *out, struct bytes text);
void csv_add_value(struct buf *out, enum metric_type type, union value value);

#endif
