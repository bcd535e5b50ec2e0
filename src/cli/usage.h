/* The --help pages of a command and of sonde itself, in 80 columns. */
#ifndef SONDE_CLI_USAGE_H
#define SONDE_CLI_USAGE_H

#include "cli/command.h"

void usage_of(struct buf *out, const struct command *command);
void usage_of_sonde(struct buf *out);

/* Shared by the help pages and the man pages. */
extern const struct command_fact usage_exits[];       /* 0, 1, 2 */
extern const struct command_fact usage_environment[]; /* for commands with --db */

#endif
