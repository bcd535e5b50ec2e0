/* Rule: processes crashed (SIGSEGV, SIGABRT, …), be the job as a whole a success or not. Threshold: one. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct store_job *job = &facts->job;
    uint64_t crashed = job->summary.crashed;
    if (!crashed)
        return false;
    bool well = facts_ended_well(facts);
    advice->severity = well ? SEVERITY_HINT : SEVERITY_PROBLEM;
    advice->weight = 0.9;
    rule_say(advice, "%s crashed (SIGSEGV, SIGABRT, SIGBUS, SIGFPE or the like).",
             say_many(crashed, "process", "processes").s);
    rule_advise(advice, "sonde ps %.60s shows which; with ulimit -c unlimited a core file tells where.",
                job->job_id ? job->job_id : "");
    return true;
}

const struct rule rule_crashed = { .name = "crashed", .judge = judge };
