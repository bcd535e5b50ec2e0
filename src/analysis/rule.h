/* A rule checks the facts of a job and gives at most one piece of advice. To add one, follow docs/advice.md: copy
 * analysis/rules/small_io.c. */
#ifndef SONDE_ANALYSIS_RULE_H
#define SONDE_ANALYSIS_RULE_H

#include "analysis/facts.h"

enum severity {
    SEVERITY_NOTE,    /* for information */
    SEVERITY_HINT,    /* could be improved */
    SEVERITY_WASTE,   /* much of the allocation or of the time was wasted */
    SEVERITY_PROBLEM, /* something failed, or the data is incomplete */
    SEVERITIES,
};

struct advice {
    const struct rule *rule;
    enum severity severity;
    double weight;      /* 0..1: the share of the job it concerns; sorts within a severity */
    char sentence[400]; /* the observation, with a number; non-ASCII only if it comes from the job */
    char fix[400];   /* how to fix it */
};

/* Data that must be available before a rule is evaluated. */
enum need {
    NEED_DURATION = 1, /* start and end */
    NEED_CPU = 2,
    NEED_CORES = 4,    /* allocated, or at least those of the node */
    NEED_LIMIT = 8,    /* of memory, or at least the memory of the node */
    NEED_MEMORY = 16,  /* the peak */
    NEED_TIMELINE = 32,   /* timeline of CPU usage, at least RULE_SAMPLES_MIN samples */
};

#define RULE_SAMPLES_MIN 8
#define RULE_COUNTER(name) (1ull << COUNTER_##name)

struct rule {
    const char *name;       /* "cores-unused" */
    unsigned needs;         /* enum need */
    uint64_t counters;      /* RULE_COUNTER of those that must be known as a sum over all processes */
    const char *unless;     /* name of a more specific rule: this one is skipped if that one gave advice */
    /* True: the rule applies, and has set severity, weight, sentence and remedy. */
    bool (*judge)(const struct facts *facts, struct advice *advice);
};

/* Format advice->sentence and advice->remedy. */
void rule_set_sentence(struct advice *advice, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rule_set_fix(struct advice *advice, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
