/* Rule: many processes failed although the command succeeded. Thresholds: 10 of them and 10 % of all. Only a note,
 * since programs such as grep and test use the exit status as an answer. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define COUNT_MIN 10
#define SHARE_MIN 0.1

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct store_job *job = &facts->job;
    const struct summary *summary = &job->summary;
    bool well = facts_succeeded(facts);
    double share = (double)summary->failed / (double)summary->processes;
    if (!well || summary->failed < COUNT_MIN || !(share >= SHARE_MIN))
        return false;
    bool named = facts->failing.failed && facts->failing.name.size;
    advice->severity = SEVERITY_NOTE;
    advice->weight = share;
    rule_set_sentence(advice, "%s of %s processes exited with a nonzero status, although the command succeeded.",
                      format_count(summary->failed).s, format_count(summary->processes).s);
    if (named)
        rule_set_fix(advice, "Most often %s (%s times). Harmless if a script uses it as a test; otherwise check why.",
                     phrase_name(facts->failing.name).s, format_count(facts->failing.failed).s);
    else
        rule_set_fix(advice, "Harmless if scripts use them as tests; otherwise check why.");
    return true;
}

const struct rule rule_failed_processes = { .name = "failed-processes", .judge = judge };
