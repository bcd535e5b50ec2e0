/* After a sonde run that was killed: do processes of it still live on this machine, and write? */
#ifndef SONDE_MERGE_SURVIVORS_H
#define SONDE_MERGE_SURVIVORS_H

#include "model/run.h"

#include <stdbool.h>

/* By the pids that the spool names, and by the environment of all processes that we may look at. False for a run of another
 * machine, of which nothing is known here. */
bool survivors_any(const struct run *run, const char *spool_path);

#endif
