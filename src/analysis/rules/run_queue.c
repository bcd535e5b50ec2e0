/* Rule: threads that could run waited for a CPU. Thresholds: 30 % of the time in which they could, 1 s in all. With
 * 85 % of the cores in use the job had too many of its own; else others (10 % of the machine), the host of a virtual
 * machine (10 % of a core), a quota or binding held them back. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>

#define WAIT_SHARE 0.3
#define WAIT_MIN_S 1
#define FULL_SHARE 0.85
#define OTHERS_SHARE 0.1
#define STEAL_MIN 0.1

static void advise(const struct facts *facts, struct advice *advice)
{
    double others = facts_cores_of_others(facts), steal = shape_mean(&facts->shape, SHAPE_STEAL);
    double cores = (double)facts->job.cores;
    if (others >= OTHERS_SHARE * cores && cores > 0)
        rule_advise(advice,
                    "Others kept %s of the machine's %s busy meanwhile: run it when the machine is free, or ask for a "
                    "whole node (srun --exclusive).",
                    say_cores(others).s, say_many(facts->job.cores, "core", "cores").s);
    else if (steal >= STEAL_MIN)
        rule_advise(advice, "This is a virtual machine, and its host gave %s of its cores to others meanwhile.",
                    say_cores(steal).s);
    else
        rule_advise(advice,
                    "Yet the job kept only %s of %s cores busy: look for %sthreads bound to the same cores (taskset, "
                    "srun --cpu-bind), or a CPU quota.",
                    say_cores(facts_cores_used(facts)).s, say_cores(facts_cores_allowed(facts)).s,
                    isnan(others) ? "others who used the machine, " : "");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double waiting_s = facts_waiting_s(facts), share = facts_run_queue_share(facts), allowed = facts_cores_allowed(facts);
    if (!(share >= WAIT_SHARE) || waiting_s < WAIT_MIN_S)
        return false;
    uint64_t peak = facts->job.summary.threads_peak;
    bool own = facts_cores_used(facts) >= FULL_SHARE * allowed;
    struct text most = { "" };
    advice->weight = share;
    if (own && (double)peak > allowed)
        most = say_many(peak, "thread", "threads");
    rule_say(advice, "Threads that could run waited %s for a CPU, %s of their time%s%s%s%s%s.",
             say_seconds(waiting_s).s, say_share(share).s, most.s[0] ? ": up to " : "", most.s,
             most.s[0] ? " on " : "", most.s[0] ? say_cores(allowed).s : "", most.s[0] ? " cores" : "");
    advice->severity = own ? SEVERITY_HINT : SEVERITY_WASTE;
    if (own)
        rule_advise(advice, "Start no more at once than there are cores (make -j, OMP_NUM_THREADS), or ask for more "
                            "cores.");
    else
        advise(facts, advice);
    return true;
}

const struct rule rule_run_queue = {
    .name = "run-queue", .needs = NEED_DURATION | NEED_CPU | NEED_CORES,
    .counters = RULE_COUNTER(time_waiting) | RULE_COUNTER(time_oncpu), .judge = judge,
};
