/* Perf counts of threads, corrected for the time in which the counter had to share the hardware. */
#ifndef SONDE_MERGE_PERF_H
#define SONDE_MERGE_PERF_H

#include "merge/threads.h"
#include "model/run.h"

/* Gives each thread of the process, whose perf record threads_of has left in thread.events, its counts, and the process
 * their sum, of which an event is known when every thread told it, and none where the process, whose counters are there, ran
 * much longer than was counted. all_threads: none is missing among the process's. scratch: has more records of the main
 * thread. The run's counts have room for two for each perf record. */
void perf_fill(const struct events *events, const struct threads_scratch *scratch, struct run *run, bool all_threads,
               struct process *process);

#endif
