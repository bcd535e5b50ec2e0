/* Rule: the kernel took the CPU away often. Thresholds: 500 involuntary switches per second of CPU time, 10,000 in all. */
#include "judge/rules.h"

#include "judge/say.h"

#define RATE_MIN 500
#define COUNT_MIN 10000

static bool judge(const struct facts *facts, struct advice *advice)
{
    double switches, rate;
    facts_sum(facts, COUNTER_invol_ctxsw, &switches);
    rate = switches / facts_cpu_s(facts);
    if (switches < COUNT_MIN || !(rate >= RATE_MIN))
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.2;
    rule_say(advice, "Running threads were taken off the CPU %s times, %s a second of CPU time.",
             text_count((uint64_t)switches).s, text_count((uint64_t)(rate + 0.5)).s);
    rule_advise(advice, "More threads were busy than cores: start fewer at once, or bind them to cores of their own.");
    return true;
}

const struct rule rule_preempted = {
    .name = "preempted", .needs = NEED_CPU, .counters = RULE_COUNTER(invol_ctxsw), .unless = "run-queue", .judge = judge,
};
