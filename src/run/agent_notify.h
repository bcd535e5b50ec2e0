/* sonde run tells the agent of this node, if there is one, that it runs a job: then the agent measures it too. Does not
 * wait, unless its system calls shall be counted, and nothing depends on it. */
#ifndef SONDE_RUN_AGENT_NOTIFY_H
#define SONDE_RUN_AGENT_NOTIFY_H

#include "model/batch.h"
#include "run/run_record.h"

/* This process and all below it is the job. */
void agent_notify_begin(const struct job_id *job, const struct limits *limits, uint64_t start_ns);

/* The same before the command is started, and waits until its system calls are counted: not more than two seconds for an agent
 * that answers, 100 ms for one that does not. ABSENT: there is no agent; AGAIN: it does not answer; else why says why they are
 * not. */
enum err agent_notify_begin_counted(const struct job_id *job, const struct limits *limits, uint64_t start_ns, bool with_time, char *why,
                                size_t why_size);

/* The same to an agent that does not know of us: it was started meanwhile. */
enum err agent_notify_begin_again(void);

/* What the agent has counted, so far; *since_ns: from when on (another number: another count), 0 where it does not say. Waits a
 * little longer when it is the last time. ABSENT: there is no agent, or it does not
 * know of us; AGAIN: it does not answer; DENIED: it was told not to count any more. */
enum err agent_notify_read_counts(bool is_last, uint64_t *since_ns, struct batch *out);

void agent_notify_end(void); /* of what was begun */

#endif
