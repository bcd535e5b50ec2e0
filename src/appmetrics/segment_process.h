/* Whether the process of a board is still the one that made it, by /proc. For segment_reader.c. */
#ifndef SONDE_APPMETRICS_SEGMENT_PROCESS_H
#define SONDE_APPMETRICS_SEGMENT_PROCESS_H

#include "appmetrics/segment_reader.h"

bool process_is_gone(const struct segment_info *facts, const char *root);

#endif
