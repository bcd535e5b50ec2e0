/* Rule: memory came close to the limit. Threshold: 90 % of it. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define NEAR_SHARE 0.9

static bool judge(const struct facts *facts, struct advice *advice)
{
    double peak = facts_memory_peak(facts), limit = facts_memory_limit(facts);
    if (peak < NEAR_SHARE * limit)
        return false;
    advice->severity = SEVERITY_PROBLEM;
    advice->weight = 0.95;
    rule_set_sentence(advice, "Memory reached %s of %s, %s of %s.", phrase_bytes(peak).s, phrase_bytes(limit).s,
                      phrase_percent(peak / limit).s,
                      facts->job.memory_limit_bytes ? "the limit" : "the node's memory");
    rule_set_fix(advice, "With a little more, processes will be killed: request more memory, or use less at once.");
    return true;
}

const struct rule rule_memory_near_limit = {
    .name = "memory-near-limit", .needs = NEED_MEMORY | NEED_LIMIT, .unless = "killed", .judge = judge,
};
