/* GET /sets and GET /jobs: what the agent holds now, as JSON, for sonde ls, sonde top and whoever else asks. */
#ifndef SONDE_AGENT_STATE_H
#define SONDE_AGENT_STATE_H

#include "agent/view.h"
#include "base/buf.h"

/* {"host", "time_ns", "schemas": [{"name", "instances", "metrics": [{"name", "unit", "kind", "type", …}]}],
 *  "sets": [{"schema": place in schemas, "instance", "job", "user", "uid", "time_ns", …}]}
 * with_values: schemas hold metrics and sets hold values, null where not known. */
void state_sets(struct buf *out, const struct view *view, bool with_values);

/* {"host", "time_ns", "node": {"figures"}, "jobs": [{"id", "user", …, "figures": {"cpu_us": [VALUE, TIME_NS], …}}],
 *  "others": jobs that whoever asks may not see} */
void state_jobs(struct buf *out, const struct view *view);

#endif
