/* Peaks of concurrent processes and threads, and the time spent in short processes. */
#ifndef SONDE_MODEL_CONCURRENCY_H
#define SONDE_MODEL_CONCURRENCY_H

#include "model/summary.h"

/* Start and end are known and less than SUMMARY_SHORT_NS apart. A running process is not short. */
bool concurrency_is_short(const struct process *process);

/* Sets live_peak, threads_peak and short_wall_ns; leaves them 0 if out of memory. */
void concurrency_of_run(struct summary *summary, const struct run *run);

#endif
