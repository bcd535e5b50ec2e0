/* A rule looks at the facts of a job and gives at most one piece of advice. To add one: copy analysis/rules/small_io.c, name it
 * in analysis/rules.h and judge/meson.build, test both sides of its threshold in tests/judge/, describe it in
 * docs/advice.md. */
#ifndef SONDE_ANALYSIS_RULE_H
#define SONDE_ANALYSIS_RULE_H

#include "analysis/facts.h"

enum severity {
    SEVERITY_NOTE,    /* good to know */
    SEVERITY_HINT,    /* could be better */
    SEVERITY_WASTE,   /* much of what was allowed or of the time was lost */
    SEVERITY_PROBLEM, /* something went wrong, or the numbers are not whole */
    SEVERITIES,
};

struct advice {
    const struct rule *rule;
    enum severity severity;
    double weight;      /* 0..1: the share of the job that it is about; sorts within a severity */
    char sentence[400]; /* what was seen, with the number; UTF-8 only where it came from the job */
    char remedy[400];   /* what to do */
};

/* What must be known before a rule is asked. */
enum need {
    NEED_DURATION = 1, /* start and end */
    NEED_CPU = 2,
    NEED_CORES = 4,    /* allowed, or at least those of the machine */
    NEED_LIMIT = 8,    /* of memory, or at least the machine's */
    NEED_MEMORY = 16,  /* the peak */
    NEED_SHAPE = 32,   /* CPU over time, RULE_SAMPLES_MIN samples or more */
};

#define RULE_SAMPLES_MIN 8
#define RULE_COUNTER(name) (1ull << COUNTER_##name)

struct rule {
    const char *name;       /* "cores-unused" */
    unsigned needs;         /* enum need */
    uint64_t counters;      /* RULE_COUNTER of those that must be known in the sum of all processes */
    const char *unless;     /* name of a rule that says it better: this one is left out when that one has spoken */
    /* True: it has something to say and has filled in severity, weight, sentence and remedy. */
    bool (*judge)(const struct facts *facts, struct advice *advice);
};

/* Fills in advice->sentence and ->remedy. */
void rule_say(struct advice *advice, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rule_advise(struct advice *advice, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
