/* Processes together with their threads, which the store returns separately. */
#ifndef SONDE_REPORT_PROCESS_THREADS_H
#define SONDE_REPORT_PROCESS_THREADS_H

#include "store/store.h"

/* Calls each for every process of the job, parents first. threads: those of a multi-threaded process, otherwise count
 * is 0. A return value other than OK stops the walk and is returned. */
enum err process_threads_each(struct store *store, int64_t job_row,
                              enum err (*each)(void *context, uint32_t number, const struct process *process,
                                               const struct thread *threads, size_t count),
                              void *context);

#endif
