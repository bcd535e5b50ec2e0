/* Whether the process of a board is still the one that made it, by /proc. For board_reader.c. */
#ifndef SONDE_SAMPLE_BOARD_PROCESS_H
#define SONDE_SAMPLE_BOARD_PROCESS_H

#include "sample/board_reader.h"

bool board_process_is_gone(const struct board_facts *facts, const char *root);

#endif
