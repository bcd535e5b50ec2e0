/* The answer of a collector at /status, as people read it: for sonde collect --status. */
#ifndef SONDE_REPORT_COLLECTOR_STATUS_H
#define SONDE_REPORT_COLLECTOR_STATUS_H

#include "report/terminal.h"

/* Adds the page. Takes any text. CORRUPT: it is no such answer. */
enum err collector_show(struct buf *out, const struct terminal *terminal, const char *text, size_t size);

#endif
