/* Rule: many processes failed though the command ended well. Thresholds: 10 of them and 10 % of all. Programs such as
 * grep and test say no in this way, so it is but a note. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define COUNT_MIN 10
#define SHARE_MIN 0.1

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct store_job *job = &facts->job;
    const struct summary *summary = &job->summary;
    bool well = facts_ended_well(facts);
    double share = (double)summary->failed / (double)summary->processes;
    if (!well || summary->failed < COUNT_MIN || !(share >= SHARE_MIN))
        return false;
    bool named = facts->failing.failed && facts->failing.name.size;
    advice->severity = SEVERITY_NOTE;
    advice->weight = share;
    rule_say(advice, "%s of %s processes ended with a status other than 0, though the command ended well.",
             text_count(summary->failed).s, text_count(summary->processes).s);
    if (named)
        rule_advise(advice,
                    "Most often %s (%s times): harmless where a script asks a question by it, worth a look elsewhere.",
                    say_name(facts->failing.name).s, text_count(facts->failing.failed).s);
    else
        rule_advise(advice, "Harmless where a script asks a question by it, worth a look elsewhere.");
    return true;
}

const struct rule rule_failed_processes = { .name = "failed-processes", .judge = judge };
