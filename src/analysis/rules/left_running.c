/* Rule: processes outlived the command. Threshold: one. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

static bool judge(const struct facts *facts, struct advice *advice)
{
    uint64_t running = facts->job.summary.running;
    if (!running || !facts->job.status_known) /* after sonde attach, processes are expected to continue */
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.6;
    rule_set_sentence(advice, "%s still running when the command exited; the data covers only the time until then.",
                      phrase_plural(running, "process was", "processes were").s);
    rule_set_fix(advice, "If %s to the job, make the script wait for %s, or record to the end with sonde run --wait.",
                 running == 1 ? "it belongs" : "they belong", running == 1 ? "it" : "them");
    return true;
}

const struct rule rule_left_running = { .name = "left-running", .judge = judge };
