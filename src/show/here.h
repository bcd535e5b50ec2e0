/* The jobs on a node, as its agent tells them (GET /jobs), in a table. */
#ifndef SONDE_SHOW_HERE_H
#define SONDE_SHOW_HERE_H

#include "base/buf.h"
#include "show/terminal.h"

/* Adds the table of the jobs in text to out. CORRUPT: text is not what an agent tells. Takes any text. */
enum err here_print(struct bytes text, const struct terminal *terminal, struct buf *out);

#endif
