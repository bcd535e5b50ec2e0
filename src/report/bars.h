/* Horizontal bars: how much of a whole, in eighths of a column where the terminal can. */
#ifndef SONDE_REPORT_BARS_H
#define SONDE_REPORT_BARS_H

#include "report/terminal.h"

/* Adds exactly width columns: share (0..1, more is cut) of them filled; of what is filled, the last second (0..share)
 * in another sign. Any share over 0 shows something; NAN shows an empty bar. */
void bars_add(struct buf *out, const struct terminal *terminal, size_t width, double share, double second,
              enum colour colour);

#endif
