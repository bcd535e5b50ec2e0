/* What the sampler of the agent itself is told by the agent. */
#ifndef SONDE_SAMPLERS_SELF_H
#define SONDE_SAMPLERS_SELF_H

#include <stdbool.h>
#include <stdint.h>

/* A tick came so long after its time; late: so many that this makes late; missed: so many before it did not come at all.
 * From any thread. */
void self_tick(uint64_t delay_ns, uint64_t late, uint64_t missed);

/* The way to the collector, once a second or so. What was never told is not known. */
struct self_uplink {
    bool is_up;
    uint64_t sent_bytes, unsent_bytes, unsent_ns, lost;
};
void self_uplink(const struct self_uplink *uplink);

#endif
