/* Prints the state of an agent, from its response to POST /ctl: what sonde ctl shows. */
#ifndef SONDE_REPORT_AGENT_STATE_H
#define SONDE_REPORT_AGENT_STATE_H

#include "report/terminal.h"

/* Accepts any input. CORRUPT: it is not such a response. */
enum err agent_state_print(const char *json, size_t size, const struct terminal *terminal, struct buf *out);

#endif
