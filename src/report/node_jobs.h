/* The jobs on a node, from the response of its agent to GET /jobs, as a table. */
#ifndef SONDE_REPORT_NODE_JOBS_H
#define SONDE_REPORT_NODE_JOBS_H

#include "base/buf.h"
#include "report/terminal.h"

/* Adds the table to out. Accepts any input. CORRUPT: text is not such a response. */
enum err node_jobs_print(struct bytes text, const struct terminal *terminal, struct buf *out);

#endif
