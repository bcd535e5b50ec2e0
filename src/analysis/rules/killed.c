/* Rule: a process was terminated by SIGKILL. Threshold: one. Memory at 80 % of the limit or more suggests the OOM
 * killer. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <signal.h>

#define SUSPECT_SHARE 0.8

static bool command_killed(const struct store_job *job)
{
    return job->status_known && (job->exit_signal == SIGKILL || job->exit_code == 128 + SIGKILL);
}

static bool judge(const struct facts *facts, struct advice *advice)
{
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
