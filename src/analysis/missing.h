/* What is missing from the records of a job, and why, as sentences for the report. */
#ifndef SONDE_ANALYSIS_MISSING_H
#define SONDE_ANALYSIS_MISSING_H

#include "analysis/facts.h"

#define MISSING_MAX 16

struct missing_list {
    char items[MISSING_MAX][240]; /* without a full stop */
    size_t count;
};

void missing_find(struct missing_list *list, const struct facts *facts);

#endif
