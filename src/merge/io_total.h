/* What a run as a whole read, wrote and used, where not all of its processes told theirs. */
#ifndef SONDE_MERGE_IO_TOTAL_H
#define SONDE_MERGE_IO_TOTAL_H

#include "model/run.h"

/* Sets rchar, wchar, read_bytes and write_bytes of run->total: the sum over the processes, or what was last sampled of all
 * of them if that is more; of write_bytes without the pages of the spool, which was of spool_bytes, and which the probe wrote
 * in their name. Of a run that was cut off likewise its CPU time, as usertime. What was never sampled stays as it is. */
void io_total_set(struct run *run, uint64_t spool_bytes);

#endif
