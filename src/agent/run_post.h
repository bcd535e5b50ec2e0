/* POST /run, sent by sonde run when it has finished: queues a copy of the run's spool, which is sent to the collector in
 * pieces, together with uid and name of the user (run_queue.h). The file itself stays with its owner.
 * Request: {"spool": "/path/of/RUN.spool"}, together with the open file itself (SCM_RIGHTS): the path may not exist in
 * the agent's mount namespace and then only provides the name. Without a descriptor (older versions) the path is
 * opened.
 * Response: {"ok": true, "bytes": N} or {"ok": false, "error": STRING}. */
#ifndef SONDE_AGENT_RUN_POST_H
#define SONDE_AGENT_RUN_POST_H

#include "agent/sender.h"

#define RUN_POST_BYTES_MAX (256u << 20)

struct run_post {
    uint32_t uid; /* of the requester */
    int fd;       /* of the file, open for reading, borrowed; -1: open the path */
    struct bytes body;
};

/* Users may only send their own runs: the file must belong to uid, and is read at once. sender NULL: there is no
 * collector (ABSENT). USAGE, DENIED, FULL, IO: the response has a message. */
enum err run_post(struct sender *sender, const struct run_post *post, struct buf *answer);

#endif
