/* Rule: threads were made and ended all the time. Thresholds: 1,000 besides the main ones, 100 a second. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define THREADS_MIN 1000
#define RATE_MIN 100

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct summary *summary = &facts->job.summary;
    uint64_t made = summary->threads > summary->processes ? summary->threads - summary->processes : 0;
    double rate = (double)made / facts_duration_s(facts);
    if (made < THREADS_MIN || rate < RATE_MIN)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.25;
    rule_say(advice, "%s were made, %s a second.", say_many(made, "thread", "threads").s,
             say_count(rate).s);
    rule_advise(advice, "Keep a pool of threads and give them work, instead of a new thread for each piece.");
    return true;
}

const struct rule rule_thread_churn = { .name = "thread-churn", .needs = NEED_DURATION, .judge = judge };
