/* The sinks of the agent: every batch goes to each of them. Those that write files at once are written here; those that may
 * wait for others read the spool in a thread of their own (sinks/sink_worker.h). One that fails is reported once and counted, and
 * never stops the others. */
#ifndef SONDE_AGENT_AGENT_SINKS_H
#define SONDE_AGENT_AGENT_SINKS_H

#include "agent/plan.h"
#include "sinks/sink_worker.h"

struct outlets_one {
    struct sink_choice choice; /* the state borrows its texts */
    void *state;               /* of one that is written here; NULL: it is closed, since nobody reads any more, or: */
    struct outlet *outlet;     /* it reads the spool */
    struct journal *journal;   /* … this one */
    uint64_t failures;         /* batches that could not be written here */
    bool is_failing;
};

struct outlets {
    struct outlets_one list[PLAN_SINKS_MAX];
    size_t count;
};

/* Does one of the plan's sinks need a spool to read from? */
bool outlets_need_spool(const struct plan *plan);

/* Opens those of plan that are not there yet and closes those that are not in it. When one cannot be opened why says so, and
 * the plan from before must be applied again. journal: the spool; NULL: all are written here, whoever must wait. anew: those with
 * a path are opened anew, since somebody may have moved the file away. */
enum err outlets_apply(struct outlets *outlets, const struct plan *plan, struct journal *journal, bool anew, struct buf *why);

/* To those that are written here. */
void outlets_write(struct outlets *outlets, const struct batch *batch);

/* Makes durable what was written, and closes all, before the spool is. False: something could not be, and is lost. */
bool outlets_close(struct outlets *outlets);

#endif
