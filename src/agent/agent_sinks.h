/* The agent's sinks: every batch is written to each of them. Sinks that only write files are written here; sinks that
 * may block read the journal in a thread of their own (sinks/sink_worker.h). A failing sink is logged once and counted,
 * and never stops the others. */
#ifndef SONDE_AGENT_AGENT_SINKS_H
#define SONDE_AGENT_AGENT_SINKS_H

#include "agent/agent_config.h"
#include "sinks/sink_worker.h"

struct agent_sink {
    struct sink_choice choice;  /* the state borrows its strings */
    void *state;                /* of a sink written here; NULL: closed because its reader is gone, or: */
    struct sink_worker *worker; /* it reads the journal */
    struct journal *journal;    /* ... this one */
    uint64_t failures;          /* batches that could not be written here */
    bool is_failing;
};

struct agent_sinks {
    struct agent_sink list[AGENT_SINKS_MAX];
    size_t count;
};

/* Does any configured sink need a journal? */
bool agent_sinks_need_journal(const struct agent_config *config);

/* Opens configured sinks that are not open yet and closes those that are no longer configured. If one cannot be opened,
 * error has a message, and the previous configuration must be applied again. journal NULL: all are written here, even
 * those that may block. reopen: reopen sinks with a path, because the file may have been moved (log rotation). */
enum err agent_sinks_apply(struct agent_sinks *sinks, const struct agent_config *config, struct journal *journal,
                           bool reopen, struct buf *error);

/* To the sinks that are written here. */
void agent_sinks_write(struct agent_sinks *sinks, const struct batch *batch);

/* Flushes and closes all sinks; call before the journal is closed. False: something could not be written and is lost. */
bool agent_sinks_close(struct agent_sinks *sinks);

#endif
