/* Rule: the command itself failed, in one or more runs of the job. Threshold: any nonzero exit status, any signal
 * except SIGKILL, which analysis/rules/killed.c explains. */
#include "analysis/rules.h"

#include "base/shell.h"
#include "analysis/phrase.h"

#include <signal.h>
#include <stdio.h>

#define COMMAND_MAX 512 /* bytes of the command that are formatted */

struct failure {
    unsigned code, signal; /* one of them 0 */
    char subject[160];         /* start of the sentence */
};

static bool is_failure(bool known, unsigned code, unsigned signal)
{
    return known && (code || signal) && signal != SIGKILL && code != 128 + SIGKILL;
}

static const struct store_run *first_failed(const struct facts *facts)
{
    for (size_t i = 0; i < facts->runs.count; i++) {
        const struct store_run *run = &facts->runs.list[i];
        if (facts_is_recorded_run(run) && is_failure(run->status_known, run->exit_code, run->exit_signal))
            return run;
    }
    return NULL;
}

/* "1 of 2 runs failed: sh -c 'exit 3'" */
static void name_run(const struct facts *facts, const struct store_run *run, struct failure *failure)
{
    struct buf line;
    struct bytes args = run->command;
    args.size = args.size < COMMAND_MAX ? args.size : COMMAND_MAX;
    buf_init(&line, 16 * COMMAND_MAX);
    shell_add_args(&line, args);
    snprintf(failure->subject, sizeof failure->subject, "%s of %s runs failed: %s", format_count(facts_runs_failed(facts)).s,
             format_count(facts_run_count(facts)).s, phrase_name((struct bytes){ line.data, line.size }).s);
    buf_clear(&line);
}

/* False: nothing failed. The job's own status is that of the last run; with several runs, any may have failed. */
static bool find_failure(const struct facts *facts, struct failure *failure)
{
    const struct store_job *job = &facts->job;
    const struct store_run *run = facts_run_count(facts) > 1 ? first_failed(facts) : NULL;
    if (run) {
        *failure = (struct failure){ .code = run->exit_code, .signal = run->exit_signal };
        name_run(facts, run, failure);
        return true;
    }
    *failure = (struct failure){ .code = job->exit_code, .signal = job->exit_signal, .subject = "The command" };
    return is_failure(job->status_known, job->exit_code, job->exit_signal);
}

/* Some exit statuses have a meaning for shells and sonde run. */
static void describe(struct advice *advice, const struct failure *failure)
{
    unsigned code = failure->code;
    if (failure->signal)
        rule_set_sentence(advice, "%s was terminated by %s.", failure->subject, phrase_signal((int)failure->signal).s);
    else if (code == 126)
        rule_set_sentence(advice, "%s could not be executed (exit status 126).", failure->subject);
    else if (code == 127)
        rule_set_sentence(advice, "%s, or a command in its script, was not found (exit status 127).", failure->subject);
    else if (code > 128 && code <= 128 + 64)
        rule_set_sentence(advice, "%s exited with status %u, which shells use for %s.", failure->subject, code,
                          phrase_signal((int)code - 128).s);
    else
        rule_set_sentence(advice, "%s exited with status %u.", failure->subject, code);
}

static void advise(struct advice *advice, const struct facts *facts, unsigned code)
{
    const struct summary *summary = &facts->job.summary;
    const char *job = facts->job.job_id;
    if (code == 126)
        rule_set_fix(advice, "Check that it is a program or a script with #! and is executable (chmod +x).");
    else if (code == 127)
        rule_set_fix(advice, "Check the spelling and PATH; load the module that provides it.");
    else if (summary->failed > 1 && facts->failing.failed && facts->failing.name.size)
        rule_set_fix(advice, "%s failed in total, most often %s (%s): sonde ps %.60s shows which.",
                     phrase_plural(summary->failed, "process", "processes").s, phrase_name(facts->failing.name).s,
                     format_count(facts->failing.failed).s, job ? job : "");
    else
        rule_set_fix(advice, "Check the command's output; this report covers only what ran.");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    struct failure failure;
    if (!find_failure(facts, &failure))
        return false;
    advice->severity = failure.signal == SIGINT ? SEVERITY_NOTE : SEVERITY_PROBLEM;
    advice->weight = 1;
    describe(advice, &failure);
    advise(advice, facts, failure.code);
    return true;
}

const struct rule rule_job_failed = { .name = "job-failed", .judge = judge };
