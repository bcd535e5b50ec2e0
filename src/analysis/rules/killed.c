/* Rule: SIGKILL ended a process. Threshold: one. Memory at 80 % of the limit or more makes the kernel the suspect. */
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
    bool well = facts_ended_well(facts);
    struct text who = { "The command" };
    if (!command)
        who = say_many(killed, "process", "processes");
    const char *was = command || killed == 1 ? "was" : "were";

    advice->weight = 1;
    if (share >= SUSPECT_SHARE) {
        advice->severity = SEVERITY_PROBLEM;
        rule_say(advice, "%s %s killed by SIGKILL; memory was at %s of its limit (%s of %s).", who.s, was,
                 say_share(share).s, say_bytes(peak).s, say_bytes(limit).s);
        rule_advise(advice, "So the kernel acts when memory runs out: ask for more memory, or run less at once.");
        return true;
    }
    advice->severity = well ? SEVERITY_NOTE : SEVERITY_PROBLEM;
    rule_say(advice, "%s %s killed by SIGKILL.", who.s, was);
    rule_advise(advice, "Unless you or the program did it: a time limit, or the kernel when memory ran out. The batch "
                        "system's log and journalctl -k tell.");
    return true;
}

const struct rule rule_killed = { .name = "killed", .judge = judge };
