/* A page of shared memory in which a process collects records instead of writing each to the spool. It is a file in the
 * directory of the run's metrics segments, which outlives the process: what a killed process left is read by sonde run at its
 * end, or by sonde submit. */
#ifndef SONDE_SPOOL_RECORD_BATCH_H
#define SONDE_SPOOL_RECORD_BATCH_H

#include <stdatomic.h>
#include <stdint.h>

#define RECORD_BATCH_PREFIX "held." /* of the file name, followed by the pid */
#define RECORD_BATCH_BYTES 4096u

/* A sequence of frames (spool/frame.h). */
struct record_batch {
    _Atomic uint32_t size; /* of the frames in bytes; updated after a frame is complete */
    uint32_t count;
    uint8_t frames[];
};

#define RECORD_BATCH_CAPACITY (RECORD_BATCH_BYTES - sizeof(struct record_batch))

#endif
