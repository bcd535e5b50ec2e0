/* Runs a list of samplers: opens those that are available, reads all at each tick, retries those that failed. */
#ifndef SONDE_SAMPLERS_SAMPLERS_H
#define SONDE_SAMPLERS_SAMPLERS_H

#include "samplers/sampler.h"

struct samplers;

/* list NULL: sampler_run. Borrows list and what context points to until samplers_close. Absent samplers are skipped;
 * samplers that fail are retried by samplers_read. NOMEM. */
enum err samplers_open(struct samplers **samplers, const struct sampler *const *list,
                       const struct sampler_context *context);

/* Adds the samples of each to out. A failure is logged once and retried with growing pauses; it does not affect the
 * other samplers. */
void samplers_read(struct samplers *samplers, struct batch *out);

/* The same for the last reading, or the last for a long time: no sampler postpones anything. */
void samplers_read_last(struct samplers *samplers, struct batch *out);

/* Sets *samplers to NULL; accepts NULL there. */
void samplers_close(struct samplers **samplers);

/* Opens one sampler, reads it once and closes it, for `sonde doctor`. */
enum err samplers_try(const struct sampler *sampler, const struct sampler_context *context);

#endif
