/* Rule: processes crashed (SIGSEGV, SIGABRT, ...), whether or not the job as a whole succeeded. Threshold: one. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct store_job *job = &facts->job;
    uint64_t crashed = job->summary.crashed;
    if (!crashed)
        return false;
    bool well = facts_succeeded(facts);
    advice->severity = well ? SEVERITY_HINT : SEVERITY_PROBLEM;
    advice->weight = 0.9;
    rule_set_sentence(advice, "%s crashed (SIGSEGV, SIGABRT, SIGBUS, SIGFPE or similar).",
                      phrase_plural(crashed, "process", "processes").s);
    rule_set_fix(advice, "sonde ps %.60s shows which; after 'ulimit -c unlimited' a core file shows where.",
                 job->job_id ? job->job_id : "");
    return true;
}

const struct rule rule_crashed = { .name = "crashed", .judge = judge };
