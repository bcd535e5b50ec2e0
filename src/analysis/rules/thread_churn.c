/* Rule: threads were created and ended all the time. Thresholds: 1,000 besides the main ones, 100 per second. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define THREADS_MIN 1000
#define RATE_MIN 100

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct summary *summary = &facts->job.summary;
    uint64_t created = summary->threads > summary->processes ? summary->threads - summary->processes : 0;
    double rate = (double)created / facts_duration_s(facts);
    if (created < THREADS_MIN || rate < RATE_MIN)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.25;
    rule_set_sentence(advice, "%s were created, %s per second.", phrase_plural(created, "thread", "threads").s,
                      phrase_count(rate).s);
    rule_set_fix(advice, "Use a thread pool instead of a new thread for each piece of work.");
    return true;
}

const struct rule rule_thread_churn = { .name = "thread-churn", .needs = NEED_DURATION, .judge = judge };
