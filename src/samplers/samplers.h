/* Drives a list of samplers without knowing any: opens what is there, reads all at each tick, tries again what
 * failed. */
#ifndef SONDE_SAMPLERS_SAMPLERS_H
#define SONDE_SAMPLERS_SAMPLERS_H

#include "samplers/sampler.h"

struct samplers;

/* list NULL: sampler_run. Borrows list and what context points to until samplers_close. A sampler that is absent is
 * left out, one that fails is tried again by samplers_read. NOMEM. */
enum err samplers_open(struct samplers **samplers, const struct sampler *const *list,
                       const struct sampler_context *context);

/* Adds what each gives to out. A sampler that fails is reported once and tried again with growing pauses; it never
 * stops the others. */
void samplers_read(struct samplers *samplers, struct batch *out);

/* The same for the last time, or the last for long: none leaves it out to save time. */
void samplers_read_last(struct samplers *samplers, struct batch *out);

/* Sets *samplers to NULL; accepts NULL there. */
void samplers_close(struct samplers **samplers);

/* Opens one sampler, reads it once and closes it: what doctor tells about it. */
enum err samplers_try(const struct sampler *sampler, const struct sampler_context *context);

#endif
