/* I/O of processes with threads that were too short-lived to be read one by one: derived from the kernel's total for
 * the process, its threads and the children that it waited for. */
#ifndef SONDE_MERGE_IO_WITH_CHILDREN_H
#define SONDE_MERGE_IO_WITH_CHILDREN_H

#include "merge/probe_overhead.h"
#include "merge/process_image.h"
#include "merge/usage_records.h"

#define IO_COUNTERS ((1ull << COUNTER_rchar) | (1ull << COUNTER_wchar) | (1ull << COUNTER_syscr) \
                     | (1ull << COUNTER_syscw) | (1ull << COUNTER_read_bytes) | (1ull << COUNTER_write_bytes) \
                     | (1ull << COUNTER_cancelled_write_bytes))

struct io_with_children {
    struct io_family *families;
    uint32_t count;
    uint32_t *family_of; /* index in families + 1; 0: not needed */
};

enum err io_with_children_init(struct io_with_children *io, const struct record_index *records,
                               const struct process_instances *instances, const struct process_images *images);
void io_with_children_clear(struct io_with_children *io);

/* What the process had done when its last image was exec'd. */
struct io_before {
    struct counters whole, children; /* like whole_io and children of the end record; zero if there is only one image */
    struct overhead_io overhead;  /* of the probe, between whole and the start of the image */
};

/* Sets the I/O of the instance's last image, including all threads, if it can be derived. */
void io_with_children_fill(const struct io_with_children *io, uint32_t instance, const struct usage_records *reported,
                           const struct io_before *before,
             struct counters *counters);

#endif
