/* The jobs on a node, as its agent tells them (GET /jobs), in a table. */
#ifndef SONDE_REPORT_NODE_JOBS_H
#define SONDE_REPORT_NODE_JOBS_H

#include "base/buf.h"
#include "report/terminal.h"

/* Adds the table of the jobs in text to out. CORRUPT: text is not what an agent tells. Takes any text. */
enum err here_print(struct bytes text, const struct terminal *terminal, struct buf *out);

#endif
