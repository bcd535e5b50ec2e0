/* What sonde attach counts, on a board like that of a program which counts itself: the agent reads it, and sonde get,
 * /metrics and tau's clients show it while it grows. */
#ifndef SONDE_RUN_ATTACH_SEGMENT_H
#define SONDE_RUN_ATTACH_SEGMENT_H

#include "syscalls/syscall_counts.h"
#include "run/attach_target.h"

/* Whose calls they will be: of the target's job and user, not of who attaches to it. Says on stderr what it is told of. */
void attach_board_begin(const struct attach_target *target);

/* Adds what has come since the last time; makes the board when it is the first. There is one in a process. */
void attach_board_tell(const struct syscall_counts *counts);

/* The last numbers stay for the agent; without one nothing stays. Harmless without a board. */
void attach_board_end(void);

#endif
