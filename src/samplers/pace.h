/* Limits a reading to a share of one CPU: an expensive reading is followed by a longer pause. */
#ifndef SONDE_SAMPLERS_PACE_H
#define SONDE_SAMPLERS_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: due at once. */
struct pace {
    uint64_t due_ns;
};

static inline bool pace_is_due(const struct pace *pace, uint64_t now_ns)
{
    return now_ns >= pace->due_ns;
}

/* The reading that began at now_ns used cost_ns of CPU time. one_in: 20 for a share of 5 %. */
static inline void pace_record(struct pace *pace, uint64_t now_ns, uint64_t cost_ns, unsigned one_in)
{
    pace->due_ns = now_ns + cost_ns * one_in;
}

#endif
