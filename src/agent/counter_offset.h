/* Keeps counters continuous when a sampler is reopened with other settings: counters that the sampler itself counts
 * since it was opened would start at 0 again. Takes the last values from model/latest.h and adds offsets to the new
 * samples. */
#ifndef SONDE_AGENT_COUNTER_OFFSET_H
#define SONDE_AGENT_COUNTER_OFFSET_H

#include "base/map.h"
#include "model/latest.h"

/* Zero-initialized: no offsets, no cost. */
struct counter_offsets {
    struct map entries; /* Saves the last values read by source, from which its counters continue. NOMEM: some do not. */
};

/* Adjusts the samples from index from on: if the first value of a counter is lower than its last one was, it becomes
 * the last one, and all later values are increased by the same offset. A counter that is not lower continues by itself
 * (the kernel's) and is not touched any more; nor is one that restarts later. */
enum err counter_offsets_save(struct counter_offsets *offsets, const struct latest *live, const void *source);

/* The first complete reading is done: entries that were not in it are dropped, except for jobs as a whole, which may be
 * found later. */
void counter_offsets_apply(struct counter_offsets *offsets, struct batch *batch, size_t from);

/* The new one has read all there is: what was not in it will not come any more, but for jobs as a whole, which may be found
 * later. */
void counter_offsets_drop_unmatched(struct counter_offsets *offsets);

void counter_offsets_drop_job(struct counter_offsets *offsets, const char *job);
void counter_offsets_clear(struct counter_offsets *offsets);

#endif
