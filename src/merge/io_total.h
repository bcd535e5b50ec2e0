/* What a run as a whole read, wrote and used, if that is not known for all of its processes. */
#ifndef SONDE_MERGE_IO_TOTAL_H
#define SONDE_MERGE_IO_TOTAL_H

#include "model/run.h"

/* Sets rchar, wchar, read_bytes and write_bytes of run->total to the sum over the processes, or to the last sample of
 * the process tree if that is larger. write_bytes excludes the pages of the spool (spool_bytes), which the probes wrote
 * on behalf of the processes. For an interrupted run it also sets the CPU time, as usertime. Values that were never
 * sampled are unchanged. */
void io_total_set(struct run *run, uint64_t spool_bytes);

#endif
