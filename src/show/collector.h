/* The answer of a collector at /status, as people read it: for sonde collect --status. */
#ifndef SONDE_SHOW_COLLECTOR_H
#define SONDE_SHOW_COLLECTOR_H

#include "show/terminal.h"

/* Adds the page. Takes any text. CORRUPT: it is no such answer. */
enum err collector_show(struct buf *out, const struct terminal *terminal, const char *text, size_t size);

#endif
