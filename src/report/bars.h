/* Horizontal bars that show a share, in eighths of a column if the terminal can. */
#ifndef SONDE_REPORT_BARS_H
#define SONDE_REPORT_BARS_H

#include "report/terminal.h"

/* Adds exactly width columns, of which share (0..1, more is cut) is filled; the last second (0..share) of them with
 * another character. Any share over 0 shows something; NAN shows an empty bar. */
void bars_add(struct buf *out, const struct terminal *terminal, size_t width, double share, double second,
              enum colour colour);

#endif
