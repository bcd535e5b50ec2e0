/* A page of shared memory in which a process keeps records for a while instead of writing each to the spool. It is a file in the
 * folder of the run's boards, which outlives the process: what a killed one left there is read by sonde run at its end, or by
 * sonde submit. */
#ifndef SONDE_SPOOL_RECORD_BATCH_H
#define SONDE_SPOOL_RECORD_BATCH_H

#include <stdatomic.h>
#include <stdint.h>

#define RECORD_BATCH_PREFIX "held." /* of its name; behind it the pid */
#define RECORD_BATCH_BYTES 4096u

/* Frames (spool/frame.h), one behind the other. */
struct record_batch {
    _Atomic uint32_t size; /* of them in bytes; raised after a frame stands there whole */
    uint32_t count;
    uint8_t frames[];
};

#define RECORD_BATCH_CAPACITY (RECORD_BATCH_BYTES - sizeof(struct record_batch))

#endif
