/* Runs a command with its arguments: for main.c, and for commands that end in another one. */
#ifndef SONDE_CLI_COMMAND_START_H
#define SONDE_CLI_COMMAND_START_H

#include "cli/command.h"

/* argv: what follows the command's name; it is reordered. globals are as set by the options before the name. Returns
 * the exit status. */
int command_start(const struct command *command, struct command_globals *globals, int argc, char **argv);

/* Prints the help of a command; NULL: of sonde. */
int command_show_help(const struct command *command);

/* Prints "WHO: WHAT" and a second line that points to the help of hint. Returns EXIT_USAGE. */
int command_print_usage_error(const char *who, const char *what, const char *hint);

#endif
