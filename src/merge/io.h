/* I/O of processes with threads that lived too short to be looked at one by one: from the sum that the kernel keeps of a
 * process, its threads and the children that it waited for. */
#ifndef SONDE_MERGE_IO_H
#define SONDE_MERGE_IO_H

#include "merge/process_image.h"
#include "merge/probe_overhead.h"
#include "merge/exit_report.h"

#define IO_COUNTERS ((1ull << COUNTER_rchar) | (1ull << COUNTER_wchar) | (1ull << COUNTER_syscr) \
                     | (1ull << COUNTER_syscw) | (1ull << COUNTER_read_bytes) | (1ull << COUNTER_write_bytes) \
                     | (1ull << COUNTER_cancelled_write_bytes))

struct io {
    struct io_family *families;
    uint32_t count;
    uint32_t *by_life; /* place in families + 1; 0: not needed */
};

enum err io_init(struct io *io, const struct events *events, const struct lives *lives, const struct images *images);
void io_clear(struct io *io);

/* What the life had done by the exec of its last image. */
struct io_before {
    struct counters whole, children; /* as whole_io and children of the end record; zeros where it has one image */
    struct own own;                  /* of the probe, behind whole and before the image */
};

/* Sets the I/O of the life's last image, with all threads, where it can be told. */
void io_fill(const struct io *io, uint32_t life, const struct told *told, const struct io_before *before,
             struct counters *counters);

#endif
