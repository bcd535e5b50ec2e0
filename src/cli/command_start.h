/* Starts a command with its words: of main.c, and of a command that ends in another one. */
#ifndef SONDE_CLI_COMMAND_START_H
#define SONDE_CLI_COMMAND_START_H

#include "cli/command.h"

/* argv: what follows the command's name; its words are moved about. globals are as options before the name have set them. Returns
 * the exit status. */
int command_start(const struct command *command, struct command_globals *globals, int argc, char **argv);

/* The help of a command; NULL: of sonde. */
int command_show_help(const struct command *command);

/* "WHO: WHAT", and a second line that leads to the help of hint. Returns EXIT_USAGE. */
int command_complain(const char *who, const char *what, const char *hint);

#endif
