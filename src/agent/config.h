/* The configuration file of the agent: "key = value" lines, in sections named after sensors. */
#ifndef SONDE_AGENT_CONFIG_H
#define SONDE_AGENT_CONFIG_H

#include "agent/plan.h"

/* Adds what the file says to plan. ABSENT, DENIED, IO: it cannot be read; USAGE: why holds "FILE:LINE: reason". */
enum err config_read(struct plan *plan, const char *path, struct buf *why);

/* The same for a text, which is changed; name stands for it in messages. */
enum err config_parse(struct plan *plan, const char *name, char *text, struct buf *why);

#endif
