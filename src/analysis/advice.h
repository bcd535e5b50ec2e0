/* Asks every rule about a job and puts the answers in order. */
#ifndef SONDE_ANALYSIS_ADVICE_H
#define SONDE_ANALYSIS_ADVICE_H

#include "analysis/rules.h"

#define ADVICE_MAX 32   /* at least the number of rules */
#define ADVICE_SHOWN 6  /* more would not be read */

struct advice_list {
    struct advice items[ADVICE_MAX]; /* most severe first */
    size_t count;
};

void advice_of(struct advice_list *list, const struct facts *facts);

/* Whether all that the rule needs is known. */
bool advice_can_judge(const struct rule *rule, const struct facts *facts);

/* "problem", "waste", "hint", "note". */
const char *advice_severity(enum severity severity);

#endif
