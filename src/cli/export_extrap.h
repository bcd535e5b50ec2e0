/* sonde export --format extrap: jobs or folders of profiles as lines for Extra-P. */
#ifndef SONDE_CLI_EXPORT_EXTRAP_H
#define SONDE_CLI_EXPORT_EXTRAP_H

#include "cli/command_store.h"

/* The operands are ids of jobs, files or folders; without one, the jobs that have the name of the last. */
int export_extrap(const struct command_call *call, const char *output, bool has_callpath);

#endif
