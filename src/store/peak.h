/* The peak of the memory that all runs of a job used together, from their samples. */
#ifndef SONDE_STORE_PEAK_H
#define SONDE_STORE_PEAK_H

#include "store/db.h"

#define PEAK_SAMPLED_MAX 256 /* runs whose samples are read: a thousand that end together must not wait for it */

/* The largest total, at any time, of the runs' memory in their last samples; with more than PEAK_SAMPLED_MAX runs, of
 * the peaks of the runs active at that time. *bytes is 0 if there are no samples or they are damaged: then only the
 * peak of each run is known. */
enum err peak_of_runs(struct store *store, int64_t job_row, size_t runs, uint64_t *bytes);

/* The same for a job that only agents monitored: the largest total of the peaks of its nodes, from the kernel. */
enum err peak_of_nodes(struct store *store, int64_t job_row, uint64_t *bytes);

#endif
