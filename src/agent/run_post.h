/* What sonde run hands over when it has ended: the body of POST /run, and the answer. The spool goes up to the collector, piece
 * by piece, behind what is in the agent's own spool; the file itself stays with the one who gave it.
 *
 * Comes in: {"spool": "/path/of/RUN.spool"}. Goes out: {"ok": true, "bytes": N}, or {"ok": false, "error": TEXT}. */
#ifndef SONDE_AGENT_RUN_POST_H
#define SONDE_AGENT_RUN_POST_H

#include "agent/sender.h"

#define RUN_POST_BYTES_MAX (256u << 20)

/* Everybody hands over what is theirs: the file must belong to uid, and is read at once. sender NULL: there is no collector
 * (ABSENT). USAGE, DENIED, FULL, IO: the answer says it too. */
enum err run_post(struct sender *sender, uint32_t uid, struct bytes body, struct buf *answer);

#endif
