/* Sends batches off the node: each batch becomes a record of the agent's stream, is appended to the journal on disk,
 * and from there sent to a collector by the uplink and written by sinks that read the journal (agent/agent_sinks.h).
 * Each start of the agent begins a new stream; what an earlier one left in the journal is sent first. */
#ifndef SONDE_AGENT_SENDER_H
#define SONDE_AGENT_SENDER_H

#include "agent/agent_config.h"
#include "model/batch.h"

struct sender;

struct sender_figures {
    bool has_uplink; /* false: no collector, the uplink figures are unset */
    struct uplink_figures uplink;
    struct journal_figures spool;
    uint64_t records; /* written to the journal */
    uint64_t dropped; /* batches that could not be written to the journal because its disk was full: a gap */
    uint64_t journal_bytes; /* limit */
    const char *journal_dir, *journal_error; /* borrowed; error: current problem, "" if none */
};

/* Opens the journal and, if collectors are configured, starts the uplink. error gets a message. */
enum err sender_open(struct sender **sender, const struct uplink_config *config, const char *host, struct buf *error);

/* Waits up to timeout_ns for the collector to acknowledge everything. Accepts NULL. */
void sender_close(struct sender **sender, uint64_t timeout_ns);

/* Changes collectors, keys or limits; the journal stays. On an error nothing changes. If nothing differs, keys are
 * reloaded. */
enum err sender_apply(struct sender *sender, const struct uplink_config *config, struct buf *error);

/* Is it the same journal, so that sender_apply is sufficient? */
bool sender_has_same_journal(const struct sender *sender, const struct uplink_config *config);

struct journal *sender_journal(const struct sender *sender); /* valid as long as the sender */
bool sender_has_uplink(const struct sender *sender);

/* Removes cursors of sinks that are no longer configured, which would keep old data in the journal. */
void sender_remove_old_cursors(const struct sender *sender, const struct agent_config *config);

void sender_add(struct sender *sender, const struct batch *batch);

/* For a batch that the caller can send again: a failure is not counted as a gap. FULL, IO. */
enum err sender_add_retryable(struct sender *sender, const struct batch *batch);

/* Queues a copy of a run that a user has recorded (agent/run_queue.h). FULL: the user's limit, or that of all. */
enum err sender_add_run(struct sender *sender, uint32_t uid, const char *name, int fd, uint64_t size);
void sender_maintain(struct sender *sender); /* once a second */
void sender_figures(struct sender *sender, struct sender_figures *figures);

#endif
