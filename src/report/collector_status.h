/* Prints the response of a collector at /status: what sonde collect --status shows. */
#ifndef SONDE_REPORT_COLLECTOR_STATUS_H
#define SONDE_REPORT_COLLECTOR_STATUS_H

#include "report/terminal.h"

/* Adds the page. Accepts any input. CORRUPT: it is not such a response. */
enum err collector_status_print(struct buf *out, const struct terminal *terminal, const char *text, size_t size);

#endif
