/* System calls that the kernel counted for jobs, served under tau's names: from the samples of the sensor to the table of
 * programs. What programs count themselves comes there by their boards. */
#ifndef SONDE_PROGRAMS_PROGRAM_CALLS_H
#define SONDE_PROGRAMS_PROGRAM_CALLS_H

#include "model/batch.h"
#include "programs/program_jobs.h"

/* Under the lock of the table. Samples of other sets, and of no job, are passed over. ending: a job whose last samples these are;
 * NULL: none. */
void program_calls_take(struct program_table *table, const struct program_jobs *jobs, const struct job *ending,
                        const struct batch *batch);

#endif
