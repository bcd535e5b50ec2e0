/* Rule: many context switches. Thresholds: 500 involuntary switches per second of CPU time, 10,000 in total, a job of 1
 * s of CPU time or more. With a third as many voluntary ones, threads woke each other (pipes, locks). */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define RATE_MIN 500
#define COUNT_MIN 10000
#define CPU_MIN_S 1
#define HANDED_SHARE (1.0 / 3)

static bool judge(const struct facts *facts, struct advice *advice)
{
    double taken, given, cpu_s = facts_cpu_s(facts);
    facts_sum(facts, COUNTER_invol_ctxsw, &taken);
    facts_sum(facts, COUNTER_vol_ctxsw, &given);
    if (taken < COUNT_MIN || cpu_s < CPU_MIN_S || taken / cpu_s < RATE_MIN)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.2;
    if (given >= HANDED_SHARE * taken) {
        rule_set_sentence(advice, "%s context switches, %s per second of CPU time: threads pass work to each other.",
                          phrase_count(taken + given).s, phrase_count((taken + given) / cpu_s).s);
        rule_set_fix(advice, "Pass larger chunks (through pipes, queues, locks), or do both steps in one thread.");
        return true;
    }
    rule_set_sentence(advice, "%s involuntary context switches, %s per second of CPU time.", phrase_count(taken).s,
                      phrase_count(taken / cpu_s).s);
    rule_set_fix(advice, "More threads were busy than cores: start fewer at once, or bind them to separate cores.");
    return true;
}

const struct rule rule_preempted = {
    .name = "preempted", .needs = NEED_CPU, .counters = RULE_COUNTER(invol_ctxsw) | RULE_COUNTER(vol_ctxsw),
    .unless = "run-queue", .judge = judge,
};
