/* What the probe itself wrote in a process before an exec: its records stand in the spool, so their sizes are known, and
 * the kernel counts them as bytes and calls of the process. The probe takes off only what it wrote since the exec. */
#ifndef SONDE_COLLECT_OWN_H
#define SONDE_COLLECT_OWN_H

#include "collect/lives.h"

struct own {
    uint64_t bytes, calls;
};

/* first: the event of the life to begin with. image: the event by which the probe told of the image, NONE when it did
 * not. What was written before the image before it is left out: that stands on both sides of the difference between the
 * two. */
struct own own_before(const struct events *events, uint32_t first, uint32_t image);

void own_subtract(const struct own *own, struct counters *counters);

#endif
