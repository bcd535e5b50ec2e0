/* GET /programs: what programs tell, as JSON, for sonde get, list-metrics and track. From the table of programs. */
#ifndef SONDE_API_PROGRAM_JSON_H
#define SONDE_API_PROGRAM_JSON_H

#include "appmetrics/registry.h"

/* Answers query (what stands behind '?'), as far as viewer may see it (as in program_page.h). Without job, user and all: sums
 * over the node. Takes the table's lock. USAGE: nobody can ask so, and out says why. */
enum err program_json_write(struct buf *out, struct registry *registry, struct bytes query, uint32_t viewer);

#endif
