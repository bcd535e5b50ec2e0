/* A sonde run inside of another one. */
#ifndef SONDE_RUN_NESTED_RUN_H
#define SONDE_RUN_NESTED_RUN_H

#include "run/run.h"

/* Does an enclosing sonde run already record this job, into the same database? Then it also records what we start,
 * and monitoring it again would count everything twice. Logs a warning if the user asked for options that are
 * therefore ignored. */
bool nested_run_is_recorded(const struct run_settings *settings);

#endif
