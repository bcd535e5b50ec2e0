/* What the probe itself read and wrote in a process before an exec. The kernel counts it as I/O of the process; the
 * exec record contains it. (The probe itself subtracts only what it read and wrote since the exec.) */
#ifndef SONDE_MERGE_PROBE_OVERHEAD_H
#define SONDE_MERGE_PROBE_OVERHEAD_H

#include "merge/process_instance.h"

struct overhead_io {
    uint64_t rchar, syscr, wchar, syscw;
};

/* first: the record of the instance to start with. image: the image record; if NONE, exec is the record that announced
 * the image. Writes before the preceding image are left out: they cancel out in the difference between the two. */
struct overhead_io probe_overhead_before(const struct record_index *records, uint32_t first, uint32_t image,
                                            uint32_t exec);

/* Only the frame of the exec record itself. */
struct overhead_io probe_overhead_of_exec(const struct record_index *records, uint32_t exec);

void probe_overhead_subtract(const struct overhead_io *own, struct counters *counters);

#endif
