/* What sonde run hands over when it has ended: the body of POST /run, and the answer. The spool goes up to the collector, piece
 * by piece, behind what is in the agent's own spool; the file itself stays with the one who gave it.
 *
 * Comes in: {"spool": "/path/of/RUN.spool"}, and with it the open file itself (SCM_RIGHTS): the path may mean nothing in the
 * agent's mount namespace, and gives the name then. Without a file, as older ones send it, the path is opened.
 *
 * Goes out: {"ok": true, "bytes": N}, or {"ok": false, "error": TEXT}. */
#ifndef SONDE_AGENT_RUN_POST_H
#define SONDE_AGENT_RUN_POST_H

#include "agent/sender.h"

#define RUN_POST_BYTES_MAX (256u << 20)

struct run_post {
    uint32_t uid;     /* of the one who asks */
    int fd;           /* of the file, open for reading, borrowed; -1: none came, it is opened by its path */
    struct bytes body;
};

/* Everybody hands over what is theirs: the file must belong to uid, and is read at once. sender NULL: there is no collector
 * (ABSENT). USAGE, DENIED, FULL, IO: the answer says it too. */
enum err run_post(struct sender *sender, const struct run_post *post, struct buf *answer);

#endif
