/* What the probe itself read and wrote in a process before an exec, which the kernel counts as bytes and calls of the
 * process: the exec record tells. The probe takes off only what it read and wrote since the exec. */
#ifndef SONDE_MERGE_PROBE_OVERHEAD_H
#define SONDE_MERGE_PROBE_OVERHEAD_H

#include "merge/process_instance.h"

struct own {
    uint64_t rchar, syscr, wchar, syscw;
};

/* first: the event of the life to begin with. image: the event by which the probe told of the image, NONE when it did
 * not: then exec, by which it was announced. What was written before the image before it is left out: that stands on both
 * sides of the difference between the two. */
struct own own_before(const struct events *events, uint32_t first, uint32_t image, uint32_t exec);

/* The frame of the exec record alone. */
struct own own_of_exec(const struct events *events, uint32_t exec);

void own_subtract(const struct own *own, struct counters *counters);

#endif
