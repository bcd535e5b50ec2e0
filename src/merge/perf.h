/* Perf event counts of threads, corrected for counter multiplexing. */
#ifndef SONDE_MERGE_PERF_H
#define SONDE_MERGE_PERF_H

#include "merge/threads.h"
#include "model/run.h"

/* Sets the counts of each thread of the process, whose perf record threads_of stored in thread.events, and the sum for
 * the process. The sum of an event is known if all threads have it, and unknown if the process, whose counters must be
 * set, ran much longer than its events were enabled. all_threads: no thread of the process is missing. scratch has
 * further records of the main thread. run->counts must have capacity for two entries per perf record. */
void perf_fill(const struct record_index *records, const struct threads_scratch *scratch, struct run *run, bool all_threads,
               struct process *process);

#endif
