/* Evaluates every rule for a job and sorts the resulting advice. */
#ifndef SONDE_ANALYSIS_ADVICE_H
#define SONDE_ANALYSIS_ADVICE_H

#include "analysis/rules.h"

#define ADVICE_MAX 32   /* at least the number of rules */
#define ADVICE_SHOWN 6  /* the report prints no more */

struct advice_list {
    struct advice items[ADVICE_MAX]; /* most severe first */
    size_t count;
};

void advice_find(struct advice_list *list, const struct facts *facts);

/* Whether all data that the rule needs is available. */
bool advice_can_judge(const struct rule *rule, const struct facts *facts);

/* "problem", "waste", "hint", "note". */
const char *advice_severity(enum severity severity);

#endif
