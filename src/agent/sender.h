/* What leaves the node: each batch becomes a record of the agent's stream, goes into the spool on disk, and from
 * there up to a collector by the uplink, and to sinks that read the spool (agent/agent_sinks.h). A stream begins with
 * the agent; what an earlier one has left in the spool goes first. */
#ifndef SONDE_AGENT_SENDER_H
#define SONDE_AGENT_SENDER_H

#include "agent/plan.h"
#include "model/batch.h"

struct sender;

struct sender_figures {
    bool has_uplink; /* false: there is no collector, and nothing stands in */
    struct uplink_figures uplink;
    struct journal_figures spool;
    uint64_t records;        /* written to the spool */
    uint64_t unspooled;      /* batches that the spool could not take, its disk being full: a gap */
    const char *spool_dir, *spool_why; /* borrowed; why: what is wrong with it now; "": nothing */
};

/* Opens the spool and, where there are collectors, starts the uplink. why gets a sentence. */
enum err sender_open(struct sender **sender, const struct uplink_plan *plan, const char *host, struct buf *why);

/* Waits up to linger_ns for the collector to have everything. Accepts NULL there. */
void sender_close(struct sender **sender, uint64_t linger_ns);

/* Other collectors, keys or bounds; the spool stays. On an error all goes on as before. The same again: keys are read anew. */
enum err sender_apply(struct sender *sender, const struct uplink_plan *plan, struct buf *why);

/* Is it the same spool, so that sender_apply is enough? */
bool sender_keeps(const struct sender *sender, const struct uplink_plan *plan);

struct journal *sender_spool(const struct sender *sender); /* as long as the sender lives */
bool sender_has_uplink(const struct sender *sender);

/* Readers of the spool that plan does not have any more hold nothing up from now on. */
void sender_forget_old(const struct sender *sender, const struct plan *plan);

void sender_take(struct sender *sender, const struct batch *batch);

/* The same for what its owner can give again: where the spool cannot take it, that is no gap. FULL, IO. */
enum err sender_put(struct sender *sender, const struct batch *batch);
void sender_tend(struct sender *sender); /* once a second */
void sender_figures(struct sender *sender, struct sender_figures *figures);

#endif
