/* Rule: the command itself failed. Threshold: any exit status but 0, any signal but SIGKILL, which judge/killed.c
 * explains. */
#include "judge/rules.h"

#include "judge/say.h"

#include <signal.h>

/* Statuses that shells and sonde run give a meaning of their own. */
static void say_status(struct advice *advice, unsigned code)
{
    if (code == 126)
        rule_say(advice, "The command could not be run (exit status 126).");
    else if (code == 127)
        rule_say(advice, "The command, or one in its script, was not found (exit status 127).");
    else if (code > 128 && code <= 128 + 64)
        rule_say(advice, "The command ended with exit status %u, as shells tell of %s.", code,
                 say_signal((int)code - 128).s);
    else
        rule_say(advice, "The command ended with exit status %u.", code);
}

static void advise(struct advice *advice, const struct facts *facts)
{
    const struct summary *summary = &facts->job.summary;
    const char *job = facts->job.job_id;
    if (facts->job.exit_code == 126)
        rule_advise(advice, "Check that it is a program or a script with #! and may be executed (chmod +x).");
    else if (facts->job.exit_code == 127)
        rule_advise(advice, "Check the spelling and PATH; load the module that brings it.");
    else if (summary->failed > 1 && facts->failing.failed && facts->failing.name.size)
        rule_advise(advice, "%s failed in all, most often %s (%s): sonde ps %.60s shows which.",
                    say_many(summary->failed, "process", "processes").s, say_name(facts->failing.name).s,
                    text_count(facts->failing.failed).s, job ? job : "");
    else
        rule_advise(advice, "Its own output tells why; these numbers are of the part that ran.");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct store_job *job = &facts->job;
    if (!job->status_known || (job->exit_code == 0 && job->exit_signal == 0))
        return false;
    if (job->exit_signal == SIGKILL || job->exit_code == 128 + SIGKILL)
        return false;
    advice->severity = job->exit_signal == SIGINT ? SEVERITY_NOTE : SEVERITY_PROBLEM;
    advice->weight = 1;
    if (job->exit_signal)
        rule_say(advice, "The command was ended by %s.", say_signal(job->exit_signal).s);
    else
        say_status(advice, job->exit_code);
    advise(advice, facts);
    return true;
}

const struct rule rule_job_failed = { .name = "job-failed", .judge = judge };
