/* After sonde run was killed: are any of its processes still running on this node and writing to the spool? */
#ifndef SONDE_MERGE_SURVIVORS_H
#define SONDE_MERGE_SURVIVORS_H

#include "model/run.h"

#include <stdbool.h>

/* Checks the pids in the spool and the environment of all readable processes. True if that cannot be
 * determined. False for a run of another node, about which nothing is known here. */
bool survivors_any(const struct run *run, const char *spool_path);

#endif
