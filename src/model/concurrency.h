/* What was alive at the same time: the peaks of processes and threads, and the time that went into short processes. */
#ifndef SONDE_MODEL_CONCURRENCY_H
#define SONDE_MODEL_CONCURRENCY_H

#include "model/summary.h"

/* Its start and end are known and lie less than SUMMARY_SHORT_NS apart. A process still running is not short. */
bool concurrency_is_short(const struct process *process);

/* Sets live_peak, threads_peak and short_wall_ns; leaves them 0 when memory ran out. */
void concurrency_of_run(struct summary *summary, const struct run *run);

#endif
