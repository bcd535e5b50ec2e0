/* struct taskstats as kernels of all versions write it, field by field. Its head grew in the middle once: version 15
 * (Linux 6.14 and 6.15) put the largest and smallest delay behind each total, version 16 moved them to the end. */
#ifndef SONDE_SAMPLE_TASKSTATS_H
#define SONDE_SAMPLE_TASKSTATS_H

#include "sample/exits.h"

/* Fills record, save for process_ended of kernels before version 12 and the pid that they do not tell (0). The name is
 * borrowed from stats. CORRUPT when the bytes are too few for the version that they claim. */
enum err taskstats_convert(struct bytes stats, const struct exits_meaning *meaning, struct taskstats_record *record);

#endif
