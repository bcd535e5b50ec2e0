/* Rule: many tiny reads or writes. Thresholds: 100,000 calls, 1,000 per second, of under 1 KiB on average. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define CALLS_MIN 100000
#define RATE_MIN 1000
#define MEAN_MAX 1024

static bool judge_one(const struct facts *facts, struct advice *advice, enum counter bytes_counter,
                      enum counter calls_counter, const char *verb)
{
    double bytes, calls, mean;
    if (!facts_sum(facts, bytes_counter, &bytes) || !facts_sum(facts, calls_counter, &calls) || calls < CALLS_MIN)
        return false;
    mean = bytes / calls;
    if (mean >= MEAN_MAX || calls / facts_duration_s(facts) < RATE_MIN)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.5 - mean / MEAN_MAX / 2;
    rule_set_sentence(advice, "%s %s calls transferred only %s each.", phrase_count(calls).s, verb,
                      phrase_bytes(mean).s);
    rule_set_fix(advice, "Use buffering: stdio or setvbuf in C, buffered streams elsewhere, bs=1M for dd, no "
                         "unbuffered output.");
    return true;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    return judge_one(facts, advice, COUNTER_wchar, COUNTER_syscw, "write") ||
           judge_one(facts, advice, COUNTER_rchar, COUNTER_syscr, "read");
}

const struct rule rule_small_io = { .name = "small-io", .unless = "small-calls", .needs = NEED_DURATION, .judge = judge };
