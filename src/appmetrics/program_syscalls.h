/* System calls of jobs that the kernel counts (samplers/jobs/syscalls.h), served like those that programs count
 * themselves: from samples to the registry. While the kernel counts those of a job, what its programs report of them
 * is ignored, as it is part of the same. */
#ifndef SONDE_APPMETRICS_PROGRAM_SYSCALLS_H
#define SONDE_APPMETRICS_PROGRAM_SYSCALLS_H

#include "model/batch.h"
#include "appmetrics/program_jobs.h"

/* Are any in the batch? At most ticks there are none, and the lock is not needed. */
bool program_syscalls_are_in(const struct batch *batch);

/* Adds those of jobs. ending: a job whose last samples these are; NULL: none. Under the registry's lock. */
void program_syscalls_add(struct registry *registry, const struct program_jobs *jobs, const struct job *ending,
                        const struct batch *batch);

/* Updates which jobs the kernel counts; before segments are read. Under the registry's lock. */
void program_syscalls_refresh(struct registry *registry);

#endif
