/* Evaluates every rule whose data is available; the report prints the advice, most severe first. */
#include "analysis/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rule *const rules_all[] = {
#define X(name) &rule_##name,
    RULES(X)
#undef X
};
const size_t rules_count = sizeof rules_all / sizeof *rules_all;

_Static_assert(sizeof rules_all / sizeof *rules_all <= ADVICE_MAX, "ADVICE_MAX is less than the number of rules");

bool advice_can_judge(const struct rule *rule, const struct facts *facts)
{
    const struct { enum need need; bool known; } needs[] = {
        { NEED_DURATION, !isnan(facts_duration_s(facts)) },
        { NEED_CPU, !isnan(facts_cpu_s(facts)) },
        { NEED_CORES, !isnan(facts_cores_allocated(facts)) },
        { NEED_LIMIT, !isnan(facts_memory_limit(facts)) },
        { NEED_MEMORY, !isnan(facts_memory_peak(facts)) },
        { NEED_TIMELINE, facts->timeline.samples >= RULE_SAMPLES_MIN },
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (rule->needs & needs[i].need && !needs[i].known)
            return false;
    return (facts->job.summary.sum.known & rule->counters) == rule->counters;
}

static bool has_advice(const struct advice_list *list, const char *name)
{
    for (size_t i = 0; name && i < list->count; i++)
        if (strcmp(list->items[i].rule->name, name) == 0)
            return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    const struct advice *x = a, *y = b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return strcmp(x->rule->name, y->rule->name);
}

void advice_find(struct advice_list *list, const struct facts *facts)
{
    list->count = 0;
    for (size_t i = 0; i < rules_count; i++) {
        const struct rule *rule = rules_all[i];
        struct advice *advice = &list->items[list->count];
        *advice = (struct advice){ .rule = rule };
        if (!has_advice(list, rule->unless) && advice_can_judge(rule, facts) && rule->judge(facts, advice))
            list->count++;
    }
    qsort(list->items, list->count, sizeof *list->items, compare);
}

const char *advice_severity(enum severity severity)
{
    static const char *const names[SEVERITIES] = { "note", "hint", "waste", "problem" };
    return names[severity];
}

void rule_set_sentence(struct advice *advice, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(advice->sentence, sizeof advice->sentence, format, arguments);
    va_end(arguments);
}

void rule_set_fix(struct advice *advice, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(advice->fix, sizeof advice->fix, format, arguments);
    va_end(arguments);
}
