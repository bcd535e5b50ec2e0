/* The most memory that the runs of a job held together, from their samples. */
#ifndef SONDE_STORE_PEAK_H
#define SONDE_STORE_PEAK_H

#include "store/db.h"

#define PEAK_SAMPLED_MAX 256 /* runs of which the samples are read: a thousand that end together must not wait for it */

/* The largest sum, at any moment, of what each watched run of the job had in its last sample; of more than PEAK_SAMPLED_MAX
 * runs, of the peaks of those that were there at that moment. *bytes is 0 when there are no samples, or they are damaged: then
 * the runs' own peaks are all that is known. */
enum err peak_of_runs(struct store *store, int64_t job_row, size_t runs, uint64_t *bytes);

/* The same of a job that agents alone saw: the largest sum of the peaks of its nodes, which the kernel keeps for each. */
enum err peak_of_nodes(struct store *store, int64_t job_row, uint64_t *bytes);

#endif
