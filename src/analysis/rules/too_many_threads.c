/* Rule: far more threads than cores. Thresholds: 8 for each allocated core, 64 in total, a job of 1 s or more. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define PER_CORE 8
#define THREADS_MIN 64
#define DURATION_MIN_S 1

static bool judge(const struct facts *facts, struct advice *advice)
{
    uint64_t peak = facts->job.summary.threads_peak;
    double allowed = facts_cores_allocated(facts);
    if (peak < THREADS_MIN || (double)peak < PER_CORE * allowed || facts_duration_s(facts) < DURATION_MIN_S)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.3;
    rule_set_sentence(advice, "A peak of %s on %s.", phrase_plural(peak, "thread", "threads").s,
                      phrase_plural(phrase_round(allowed), "core", "cores").s);
    rule_set_fix(advice,
                 "Each costs memory and context switches: a pool of about as many threads as cores is usually faster.");
    return true;
}

const struct rule rule_too_many_threads = {
    .name = "too-many-threads", .needs = NEED_DURATION | NEED_CORES, .unless = "run-queue", .judge = judge,
};
