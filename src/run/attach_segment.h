/* Publishes the counts of sonde attach in a metrics segment, as an instrumented program would: the agent reads it,
 * and sonde get, /metrics and tau's clients show it live. */
#ifndef SONDE_RUN_ATTACH_SEGMENT_H
#define SONDE_RUN_ATTACH_SEGMENT_H

#include "syscalls/syscall_counts.h"
#include "run/attach_target.h"

/* The calls count for the job and user of the target, not of the user who attaches. Logs which job that is. */
void attach_segment_begin(const struct attach_target *target);

/* Adds the counts since the last call; creates the segment at the first. There is one per process. */
void attach_segment_update(const struct syscall_counts *counts);

/* Keeps the segment for the agent to read; removes it if there is no agent. Harmless without a segment. */
void attach_segment_end(void);

#endif
