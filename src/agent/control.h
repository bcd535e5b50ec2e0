/* POST /ctl, sent by sonde ctl: changes a running agent and returns its state. Keys: api/schema.h.
 * Request: {"set": {"period": "1s", "sensors": "-ipmi", "meminfo.period": "10s", "perf.events": "cycles,instructions"}}
 * with the keys of the configuration file, those of a sensor prefixed by its name and a dot. Either everything is
 * applied or, if there is an error, nothing. {} only queries. {"reload": true} reloads the configuration if it has no
 * error.
 * Response: {"ok": true, "host", "period_ns", "listen", "socket", "ticks", ..., "sensors": [{"name", "about",
 * "enabled", "state": "reads"|"absent"|"denied"|"fails"|"waits"|"off", "period_ns", "ticks", ..., "settings": {KEY:
 * STRING}}], "sinks": [...]} or {"ok": false, "error": STRING}. */
#ifndef SONDE_AGENT_CONTROL_H
#define SONDE_AGENT_CONTROL_H

#include "base/buf.h"

struct agent;

/* Handler for agent_http.h; context is a struct agent. USAGE: an error of the client; the response is written in any
 * case. */
enum err control_answer(void *context, const char *json, size_t size, struct buf *answer);

#endif
