/* The sinks of the agent: every batch goes to each of them. One that fails is reported once and counted, and never stops
 * the others. */
#ifndef SONDE_AGENT_OUTLETS_H
#define SONDE_AGENT_OUTLETS_H

#include "agent/aside.h"
#include "agent/plan.h"

struct outlet {
    struct sink_choice choice; /* the state borrows its texts */
    void *state;                   /* NULL: it is closed, since nobody reads any more */
    uint64_t failures;             /* batches that could not be written */
    bool is_failing;
    struct aside *aside;           /* writes it in a thread of its own, as it waits for others; NULL: we do */
};

struct outlets {
    struct outlet list[PLAN_SINKS_MAX];
    size_t count;
};

/* Opens those of plan that are not there yet and closes those that are not in it. When one cannot be opened nothing
 * changes, and why says so. anew: those with a path are opened anew, since somebody may have moved the file away. */
enum err outlets_apply(struct outlets *outlets, const struct plan *plan, bool anew, struct buf *why);

void outlets_write(struct outlets *outlets, const struct batch *batch);

/* Makes durable what was written, and closes all. False: something could not be. */
bool outlets_close(struct outlets *outlets);

#endif
