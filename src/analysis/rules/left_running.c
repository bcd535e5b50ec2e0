/* Rule: processes outlived the command. Threshold: one. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

static bool judge(const struct facts *facts, struct advice *advice)
{
    uint64_t running = facts->job.summary.running;
    if (!running || !facts->job.status_known) /* sonde attach lets go of what runs on */
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.6;
    rule_say(advice, "%s still ran when the command had ended; the numbers are those until then.",
             say_many(running, "process", "processes").s);
    rule_advise(advice, "If %s to the job, let the script wait for %s, or watch to the end with sonde run --wait.",
                running == 1 ? "it belongs" : "they belong", running == 1 ? "it" : "them");
    return true;
}

const struct rule rule_left_running = { .name = "left-running", .judge = judge };
