/* GET /sets: the latest sample of each metric set of an agent or collector, as JSON (read by api/sets_client.h). */
#ifndef SONDE_API_SETS_JSON_H
#define SONDE_API_SETS_JSON_H

#include "net/json.h"
#include "model/view.h"

/* Starts an object with the fields that every answer has: {"host", "time_ns", "version". */
void sets_json_begin(struct json *json, struct buf *out, const struct view *view);

/* {"host", "time_ns", "schemas": [{"name", "instances", "metrics": [{"name", "unit", "kind", "type", …}]}],
 *  "sets": [{"schema": index in schemas, "instance", "job", "user", "uid", "time_ns", …}]}
 * A sample from another host than that of the answer has "host" too.
 * with_values: schemas have metrics, and sets have values, with null for missing ones. */
void sets_json_write(struct buf *out, const struct view *view, bool with_values);

#endif
