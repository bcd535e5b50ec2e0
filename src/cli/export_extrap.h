/* sonde export --format extrap: jobs or directories of tau profiles as lines for Extra-P. */
#ifndef SONDE_CLI_EXPORT_EXTRAP_H
#define SONDE_CLI_EXPORT_EXTRAP_H

#include "cli/command_store.h"

/* The operands are job ids, files or directories; without any, all jobs with the name of the last one. */
int export_extrap(const struct command_call *call, const char *output, bool has_callpath);

#endif
