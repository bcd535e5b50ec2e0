/* Writes CSV fields (RFC 4180) from any bytes: commas, quotes and line breaks are quoted; NUL and bytes that are not
 * UTF-8 become \xNN, so that the file is always valid UTF-8. (JSON keeps such bytes exactly.) */
#ifndef SONDE_SINKS_CSV_CSV_H
#define SONDE_SINKS_CSV_CSV_H

#include "base/buf.h"
#include "model/metric.h"

/* One field, without the comma before it. */
void csv_add_text(struct buf *out, struct bytes text);
void csv_add_value(struct buf *out, enum metric_type type, union value value);

#endif
