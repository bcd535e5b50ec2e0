/* A plan as a configuration file, with every setting and what it means: what a site begins its own with. */
#ifndef SONDE_AGENT_PLAN_WRITE_H
#define SONDE_AGENT_PLAN_WRITE_H

#include "agent/plan.h"

/* What config_parse reads back as the same plan, but for passwords of sinks, which are shown to nobody. What nobody set is a
 * comment with the default. */
void plan_write(struct buf *out, const struct plan *plan);

#endif
