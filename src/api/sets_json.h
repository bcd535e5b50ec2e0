/* GET /sets: what an agent or a collector holds now, as JSON, for sonde ls and whoever else asks. */
#ifndef SONDE_API_SETS_JSON_H
#define SONDE_API_SETS_JSON_H

#include "net/json.h"
#include "model/view.h"

/* Begins an object with what every answer has: {"host", "time_ns", "version". */
void sets_json_begin(struct json *json, struct buf *out, const struct view *view);

/* {"host", "time_ns", "schemas": [{"name", "instances", "metrics": [{"name", "unit", "kind", "type", …}]}],
 *  "sets": [{"schema": place in schemas, "instance", "job", "user", "uid", "time_ns", …}]}
 * A set that was read on another host than the one that holds it has "host" too.
 * with_values: schemas hold metrics and sets hold values, null where not known. */
void sets_json_write(struct buf *out, const struct view *view, bool with_values);

#endif
