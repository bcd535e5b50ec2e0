/* What the agent reports about itself to the sampler "self". */
#ifndef SONDE_SAMPLERS_SELF_H
#define SONDE_SAMPLERS_SELF_H

#include <stdbool.h>
#include <stdint.h>

/* A tick was delay_ns late. late: 1 if that counts as late; missed: ticks skipped before it. May be called by any
 * thread. */
void self_tick(uint64_t delay_ns, uint64_t late, uint64_t missed);

/* The state of the uplink to the collector, about once a second. Never called: the metrics are unknown. */
struct self_uplink {
    bool is_up;
    uint64_t sent_bytes, unsent_bytes, unsent_ns, lost;
};
void self_uplink(const struct self_uplink *uplink);

#endif
