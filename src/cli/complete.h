/* Shell completion, made from the tables of the commands. */
#ifndef SONDE_CLI_COMPLETE_H
#define SONDE_CLI_COMPLETE_H

#include "cli/command.h"

void complete_bash(struct buf *out);
void complete_zsh(struct buf *out);
void complete_fish(struct buf *out);

#endif
