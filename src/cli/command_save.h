/* Filing what a command has watched itself: sonde run, sonde attach. */
#ifndef SONDE_CLI_COMMAND_SAVE_H
#define SONDE_CLI_COMMAND_SAVE_H

#include "cli/command.h"

/* Files the spool in the store of --db and removes it; keep: somebody goes on writing it. With --db agent: it is handed over to
 * the agent. What does not work is said on stderr, with what to do, and the spool stays. */
void command_file_spool(const struct command_call *call, const char *spool, bool quiet, bool keep);

#endif
