/* The --help page of a command, and of sonde as a whole, in 80 columns. */
#ifndef SONDE_CLI_USAGE_H
#define SONDE_CLI_USAGE_H

#include "cli/command.h"

void usage_of(struct buf *out, const struct command *command);
void usage_of_sonde(struct buf *out);

/* The facts that both pages and the man page share. */
extern const struct command_fact usage_exits[];       /* 0, 1, 2 */
extern const struct command_fact usage_environment[]; /* what commands with --db obey */

#endif
