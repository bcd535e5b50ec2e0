/* GET /programs: program metrics as JSON, for sonde get, list-metrics and track. From the registry. */
#ifndef SONDE_API_PROGRAM_JSON_H
#define SONDE_API_PROGRAM_JSON_H

#include "appmetrics/registry.h"

/* Answers the query (what follows '?' in the URL) as far as the viewer may see it (program_page.h). Without job, user
 * and all: values of the node. Takes the registry's lock. USAGE: the query is invalid, and out has an error message. */
enum err program_json_write(struct buf *out, struct registry *registry, struct bytes query, uint32_t viewer);

#endif
