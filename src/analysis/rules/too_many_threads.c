/* Rule: far more threads lived at once than cores. Thresholds: 8 for each core allowed, 64 in all, a job of 1 s or
 * more. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define PER_CORE 8
#define THREADS_MIN 64
#define DURATION_MIN_S 1

static bool judge(const struct facts *facts, struct advice *advice)
{
    uint64_t peak = facts->job.summary.threads_peak;
    double allowed = facts_cores_allowed(facts);
    if (peak < THREADS_MIN || (double)peak < PER_CORE * allowed || facts_duration_s(facts) < DURATION_MIN_S)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.3;
    rule_say(advice, "%s lived at the same time on %s.", say_many(peak, "thread", "threads").s,
             say_many(say_whole(allowed), "core", "cores").s);
    rule_advise(advice, "Each takes memory and switching: a pool of about as many as there are cores is usually "
                        "faster.");
    return true;
}

const struct rule rule_too_many_threads = {
    .name = "too-many-threads", .needs = NEED_DURATION | NEED_CORES, .unless = "run-queue", .judge = judge,
};
