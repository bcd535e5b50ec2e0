/* A sonde run inside of another one. */
#ifndef SONDE_RUN_NESTED_RUN_H
#define SONDE_RUN_NESTED_RUN_H

#include "run/run.h"

/* Does a sonde run that we descend from watch the job that this one is to be of, for the same store? It records what we start:
 * with us, all of it would be in the job twice. Says so to who asked for more than that. */
bool around_watches(const struct run_settings *settings);

#endif
