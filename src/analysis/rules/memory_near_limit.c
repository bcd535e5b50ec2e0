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
    rule_say(advice, "Memory reached %s of %s, %s of %s.", say_bytes(peak).s, say_bytes(limit).s,
             say_share(peak / limit).s, facts->job.memory_limit_bytes ? "the limit" : "what the machine has");
    rule_advise(advice, "A little more and processes are killed: ask for more memory, or hold less at once.");
    return true;
}

const struct rule rule_memory_near_limit = {
    .name = "memory-near-limit", .needs = NEED_MEMORY | NEED_LIMIT, .unless = "killed", .judge = judge,
};
