/* Processes with their threads: the store gives them one after the other, people want them together. */
#ifndef SONDE_REPORT_COMMAND_LINE_H
#define SONDE_REPORT_COMMAND_LINE_H

#include "store/store.h"

/* Calls each for every process of the job, parents first. threads: those of a process that had several, else count is 0.
 * What each returns other than OK stops the walk and is returned. */
enum err joined_processes(struct store *store, int64_t job_row,
                          enum err (*each)(void *context, uint32_t number, const struct process *process,
                                           const struct thread *threads, size_t count),
                          void *context);

#endif
