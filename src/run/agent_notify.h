/* Tells the agent of this node, if there is one, that sonde run has started a job, so that the agent measures it
 * too. Does not wait for the agent, unless it is to count system calls, and does not depend on it. */
#ifndef SONDE_RUN_AGENT_NOTIFY_H
#define SONDE_RUN_AGENT_NOTIFY_H

#include "model/batch.h"
#include "run/run_record.h"

/* The job consists of this process and its descendants. */
void agent_notify_begin(const struct job_id *job, const struct limits *limits, uint64_t start_ns);

/* Call before the command is started: also waits until the agent counts its system calls, at most two seconds for an
 * agent that responds, 100 ms for one that does not. ABSENT: no agent; AGAIN: it does not respond; otherwise error
 * has the reason. */
enum err agent_notify_begin_counted(const struct job_id *job, const struct limits *limits, uint64_t start_ns,
                                    bool with_time, char *error,
                                size_t error_size);

/* The same for an agent that does not know this run, because it was restarted meanwhile. */
enum err agent_notify_begin_again(void);

/* What the agent has counted so far; *since_ns: start of counting (changes if counting restarts), 0 if the agent
 * does not report it. Waits a little longer if is_last. ABSENT: no agent, or it does not know this run; AGAIN: it
 * does not respond; DENIED: it was told to stop counting. */
enum err agent_notify_read_counts(bool is_last, uint64_t *since_ns, struct batch *out);

void agent_notify_end(void); /* of what agent_notify_begin started */

#endif
