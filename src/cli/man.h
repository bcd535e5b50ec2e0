/* The man page of a command, and of sonde as a whole, in man(7) macros. */
#ifndef SONDE_CLI_MAN_H
#define SONDE_CLI_MAN_H

#include "cli/command.h"

void man_of(struct buf *out, const struct command *command);
void man_of_sonde(struct buf *out);

#endif
