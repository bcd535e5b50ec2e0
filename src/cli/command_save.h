/* Saves what sonde run and sonde attach have recorded. */
#ifndef SONDE_CLI_COMMAND_SAVE_H
#define SONDE_CLI_COMMAND_SAVE_H

#include "cli/command.h"

/* Saves the spool in the job database and removes it, unless keep says that it is still being written. With --db agent:
 * it is sent to the agent instead. Errors are logged with a suggested fix, and the spool is kept. */
void command_save_spool(const struct command_call *call, const char *spool, bool quiet, bool keep);

#endif
