/* Checks of the advice for a job, for the tests of rules. */
#ifndef SONDE_TESTS_ANALYSIS_EXPECT_ADVICE_H
#define SONDE_TESTS_ANALYSIS_EXPECT_ADVICE_H

#include "analysis/advice.h"
#include "analysis/plain.h"
#include "tools/unit.h"

static struct facts facts;
static struct advice_list list;

static inline int fresh(void **state)
{
    (void)state;
    plain_init(&facts);
    return 0;
}

static inline const struct advice *find(const char *rule)
{
    advice_find(&list, &facts);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].rule->name, rule) == 0)
            return &list.items[i];
    return NULL;
}

static inline void expect_silent(const char *rule)
{
    const struct advice *advice = find(rule);
    if (advice)
        fail_msg("%s says: %s", rule, advice->sentence);
}

/* The rule gives exactly this sentence; its fix starts as given. */
static inline void expect_advice(const char *rule, enum severity severity, const char *sentence, const char *fix)
{
    const struct advice *advice = find(rule);
    if (!advice)
        fail_msg("%s is silent", rule);
    assert_string_equal(advice->sentence, sentence);
    assert_int_equal(advice->severity, severity);
    if (strncmp(advice->fix, fix, strlen(fix)) != 0)
        fail_msg("%s advises: %s", rule, advice->fix);
    assert_true(advice->weight >= 0 && advice->weight <= 1);
}

/* A test that starts from a job without issues. */
#define T(name) cmocka_unit_test_setup(name, fresh)

#endif
