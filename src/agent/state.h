/* GET /jobs: the jobs on the node, as JSON, for sonde top and whoever else asks. */
#ifndef SONDE_AGENT_STATE_H
#define SONDE_AGENT_STATE_H

#include "base/buf.h"
#include "model/view.h"

/* {"host", "time_ns", "node": {"figures"}, "jobs": [{"id", "user", …, "figures": {"cpu_us": [VALUE, TIME_NS], …}}],
 *  "others": jobs that whoever asks may not see} */
void state_jobs(struct buf *out, const struct view *view);

#endif
