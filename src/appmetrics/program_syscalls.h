/* System calls that the kernel counted for jobs, served as those are that programs count for themselves: from the samples of
 * the sensor to the table of programs. While the kernel counts a job, what its programs' boards say of their calls is passed
 * over: it is a part of the same. */
#ifndef SONDE_APPMETRICS_PROGRAM_SYSCALLS_H
#define SONDE_APPMETRICS_PROGRAM_SYSCALLS_H

#include "model/batch.h"
#include "appmetrics/program_jobs.h"

/* Is there anything to take? At most ticks there is not, and nobody is to be locked out. */
bool program_syscalls_are_in(const struct batch *batch);

/* Under the lock of the table. Samples of other sets, and of no job, are passed over. ending: a job whose last samples these are;
 * NULL: none. */
void program_syscalls_add(struct registry *registry, const struct program_jobs *jobs, const struct job *ending,
                        const struct batch *batch);

/* Finds out anew which jobs the kernel counts. Under the lock; before boards are read. */
void program_syscalls_refresh(struct registry *registry);

#endif
