/* What a running agent is told: the body of POST /ctl, which sonde ctl sends, and the answer.
 *
 * Comes in: {"set": {"period": "1s", "sensors": "-ipmi", "meminfo.period": "10s", "perf.events": "cycles,instructions"}}
 * with the names of the configuration file, a sensor's behind its name and a dot. All of it is done or, where there is a
 * mistake, nothing. {} only asks. {"reload": true} has the configuration read anew, if there is no mistake in it.
 *
 * Goes out: {"ok": true, "host": TEXT, "period_ns": N, "listen": TEXT, "socket": TEXT, "ticks": N, "late": N, "missed": N,
 * "worst_ns": N, "clock_sets": N, "jobs": N, "entries": N, "sensors": [{"name": TEXT, "about": TEXT, "enabled": BOOL,
 * "state": "reads"|"absent"|"denied"|"fails"|"waits"|"off", "period_ns": N, "ticks": N, "late": N, "missed": N,
 * "failures": N, "settings": {KEY: TEXT}}], "sinks": [{"name": TEXT, "settings": {KEY: TEXT}, "failures": N}]}
 * or {"ok": false, "error": TEXT}. */
#ifndef SONDE_AGENT_CONTROL_H
#define SONDE_AGENT_CONTROL_H

#include "base/buf.h"

struct agent;

/* As agent_http.h wants it: context is a struct agent. USAGE: a mistake of the sender; the answer is there all the same. */
enum err control_answer(void *context, const char *json, size_t size, struct buf *answer);

#endif
