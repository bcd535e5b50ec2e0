/* What an agent does, from its answer to POST /ctl, as a page. */
#ifndef SONDE_REPORT_AGENT_STATE_H
#define SONDE_REPORT_AGENT_STATE_H

#include "report/terminal.h"

/* Takes any text. CORRUPT: it is no such answer. */
enum err agent_state_print(const char *json, size_t size, const struct terminal *terminal, struct buf *out);

#endif
