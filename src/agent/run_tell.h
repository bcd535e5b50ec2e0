/* sonde run tells the agent of this node, if there is one, that it runs a job: then the agent measures it too. Never waits,
 * and nothing depends on it. */
#ifndef SONDE_AGENT_RUN_TELL_H
#define SONDE_AGENT_RUN_TELL_H

#include "agent/run_record.h"

/* This process and all below it is the job. */
void run_tell_begin(const struct id *job, const struct limits *limits, uint64_t start_ns);
void run_tell_end(void); /* of what was begun */

#endif
