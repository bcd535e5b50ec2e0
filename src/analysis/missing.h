/* What a report cannot tell about a job, and why: a hole is named, never passed over. */
#ifndef SONDE_ANALYSIS_MISSING_H
#define SONDE_ANALYSIS_MISSING_H

#include "analysis/facts.h"

#define UNKNOWN_MAX 16

struct unknown_list {
    char items[UNKNOWN_MAX][240]; /* sentences without a full stop */
    size_t count;
};

void unknown_of(struct unknown_list *list, const struct facts *facts);

#endif
