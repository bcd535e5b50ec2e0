/* Rule: many major page faults. Thresholds: 1,000 of them, 10 per second. With memory at 80 % of the limit or more it
 * was short; otherwise programs and mapped files were read for the first time. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define COUNT_MIN 1000
#define RATE_MIN 10
#define SHORT_SHARE 0.8

static bool judge(const struct facts *facts, struct advice *advice)
{
    double faults, rate, share = facts_memory_peak(facts) / facts_memory_limit(facts);
    facts_sum(facts, COUNTER_majflt, &faults);
    rate = faults / facts_duration_s(facts);
    if (faults < COUNT_MIN || rate < RATE_MIN)
        return false;
    bool memory_short = share >= SHORT_SHARE;
    advice->severity = memory_short ? SEVERITY_PROBLEM : SEVERITY_HINT;
    advice->weight = memory_short ? 0.8 : 0.3;
    rule_set_sentence(advice, "%s major page faults (read from disk), %s per second.", phrase_count(faults).s,
                      phrase_count(rate).s);
    if (memory_short)
        rule_set_fix(advice, "Memory was at %s of its limit and pages were swapped or reloaded: request more memory.",
                     phrase_percent(share).s);
    else
        rule_set_fix(advice, "Executables, libraries or mapped files were read from disk: a second run is faster; "
                             "otherwise read files sequentially, or keep them on a local disk.");
    return true;
}

const struct rule rule_page_faults = {
    .name = "page-faults", .needs = NEED_DURATION, .counters = RULE_COUNTER(majflt), .judge = judge,
};
