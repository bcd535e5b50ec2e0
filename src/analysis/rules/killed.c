/* Rule: a process was terminated by SIGKILL. Threshold: one. The kernel counts what its OOM killer has done, if an agent monitors
 * the cgroup; otherwise memory at 80 % of the limit or more suggests it. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>
#include <signal.h>

#define SUSPECT_SHARE 0.8

static bool command_killed(const struct store_job *job)
{
    return job->status_known && (job->exit_signal == SIGKILL || job->exit_code == 128 + SIGKILL);
}

static bool judge_kills(const struct facts *facts, struct advice *advice)
{
    double limit = facts_memory_limit(facts);
    advice->weight = 1;
    advice->severity = SEVERITY_PROBLEM;
    rule_set_sentence(advice, "%s killed: out of memory%s%s.", phrase_plural(facts->oom_kills, "process", "processes").s,
                      isnan(limit) ? "" : ", with a limit of ", isnan(limit) ? "" : phrase_bytes(limit).s);
    rule_set_fix(advice, "Request more memory, or run less in parallel.");
    return true;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    if (facts->oom_kills)
        return judge_kills(facts, advice);
    const struct store_job *job = &facts->job;
    uint64_t killed = job->summary.killed;
    bool command = command_killed(job);
    if (!killed && !command)
        return false;
    double peak = facts_memory_peak(facts), limit = facts_memory_limit(facts), share = peak / limit;
    bool well = facts_succeeded(facts);
    struct format_text subject = { "The command" };
    if (!command)
        subject = phrase_plural(killed, "process", "processes");
    const char *was = command || killed == 1 ? "was" : "were";

    advice->weight = 1;
    if (share >= SUSPECT_SHARE) {
        advice->severity = SEVERITY_PROBLEM;
        rule_set_sentence(advice, "%s %s terminated by SIGKILL; memory was at %s of its limit (%s of %s).", subject.s, was,
                          phrase_percent(share).s, phrase_bytes(peak).s, phrase_bytes(limit).s);
        rule_set_fix(advice, "Most likely by the kernel, because memory ran out: request more memory, or run less in "
                             "parallel.");
        return true;
    }
    advice->severity = well ? SEVERITY_NOTE : SEVERITY_PROBLEM;
    rule_set_sentence(advice, "%s %s terminated by SIGKILL.", subject.s, was);
    rule_set_fix(advice, "If you did not do this, a time limit or the kernel's OOM killer may have. See the batch "
                         "system's log and journalctl -k.");
    return true;
}

const struct rule rule_killed = { .name = "killed", .judge = judge };
