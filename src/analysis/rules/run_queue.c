/* Rule: runnable threads waited for a CPU. Thresholds: 30 % of runnable time, 1 s in total. With 85 % of the cores in
 * use the job had too many threads itself; otherwise other processes (10 % of the node), the hypervisor (10 % of a
 * core), a quota or binding held them back. */
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
    double others = facts_cores_of_other_processes(facts), steal = timeline_mean(&facts->timeline, TIMELINE_STEAL);
    double cores = (double)facts->job.cores;
    if (others >= OTHERS_SHARE * cores && cores > 0)
        rule_set_fix(advice, "Other processes used %s of the node's %s meanwhile: run the job when the node is free, "
                             "or request a whole node (srun --exclusive).", phrase_cores(others).s,
                     phrase_plural(facts->job.cores, "core", "cores").s);
    else if (steal >= STEAL_MIN)
        rule_set_fix(advice,
                     "This is a virtual machine, and its hypervisor gave %s of its cores to other guests meanwhile.",
                     phrase_cores(steal).s);
    else
        rule_set_fix(advice, "But the job used only %s of %s cores: check for %sthreads bound to the same cores "
                             "(taskset, srun --cpu-bind), or a CPU quota.", phrase_cores(facts_cores_used(facts)).s,
                     phrase_cores(facts_cores_allocated(facts)).s,
                     isnan(others) ? "other processes on the node, " : "");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double waiting_s = facts_waiting_s(facts), share = facts_run_queue_share(facts), allowed = facts_cores_allocated(facts);
    if (!(share >= WAIT_SHARE) || waiting_s < WAIT_MIN_S)
        return false;
    uint64_t peak = facts->job.summary.threads_peak;
    bool own = facts_cores_used(facts) >= FULL_SHARE * allowed;
    struct format_text most = { "" };
    advice->weight = share;
    if (own && (double)peak > allowed)
        most = phrase_plural(peak, "thread", "threads");
    rule_set_sentence(advice, "Threads waited %s for a CPU, %s of runnable time%s%s%s%s%s.",
                      phrase_duration(waiting_s).s, phrase_percent(share).s, most.s[0] ? ": up to " : "", most.s,
                      most.s[0] ? " on " : "", most.s[0] ? phrase_cores(allowed).s : "", most.s[0] ? " cores" : "");
    advice->severity = own ? SEVERITY_HINT : SEVERITY_WASTE;
    if (own)
        rule_set_fix(advice, "Start no more threads or processes than there are cores (make -j, OMP_NUM_THREADS), or "
                             "request more cores.");
    else
        advise(facts, advice);
    return true;
}

const struct rule rule_run_queue = {
    .name = "run-queue", .needs = NEED_DURATION | NEED_CPU | NEED_CORES,
    .counters = RULE_COUNTER(time_waiting) | RULE_COUNTER(time_oncpu), .judge = judge,
};
