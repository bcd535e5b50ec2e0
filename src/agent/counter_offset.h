/* Counters that go on where they were when a sensor is opened anew with other settings: those that its sampler counts itself,
 * since it was opened, would begin at 0 again. From the last values (model/live.h) to the samples of the new one. */
#ifndef SONDE_AGENT_COUNTER_OFFSET_H
#define SONDE_AGENT_COUNTER_OFFSET_H

#include "model/live.h"

struct carry_entry;

/* Zeroes: nothing is carried, at no cost. */
struct carry {
    struct carry_entry **buckets;
    size_t bucket_count, count;
};

/* What source has read is the last of the old one: from here its counters go on. NOMEM: some do not. */
enum err carry_note(struct carry *carry, const struct live *live, const void *source);

/* Adds to the samples from number from on what the new one lacks: the first value of a counter that is less than its last one
 * was becomes that, and each later one is higher by the same. One that is not less counts on by itself (it is the kernel's),
 * and is left alone from then on; so is one that begins anew later. */
void carry_apply(struct carry *carry, struct batch *batch, size_t from);

/* The new one has read all there is: what was not in it will not come any more, but for jobs as a whole, which may be found
 * later. */
void carry_drop_unmet(struct carry *carry);

void carry_drop_job(struct carry *carry, const char *job);
void carry_clear(struct carry *carry);

#endif
