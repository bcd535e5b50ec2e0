/* Rule: the records of the job are incomplete (named "holes" in JSON for compatibility). Thresholds: anything lost
 * or damaged; 2 % of the CPU time that no recorded process accounts for; 10 % of the samples late. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>

#define UNRECORDED_SHARE 0.02
#define UNRECORDED_S 0.1
#define LATE_SHARE 0.1

/* The kernel's total includes every process that was waited for, also those that were not recorded. */
static double unrecorded_cpu_s(const struct summary *summary)
{
    double total = (double)counters_cpu_us(&summary->total) / 1e6, sum = (double)counters_cpu_us(&summary->sum) / 1e6;
    return total - sum >= UNRECORDED_S && total - sum >= UNRECORDED_SHARE * total ? total - sum : 0;
}

static bool many_late(const struct facts *facts)
{
    double period_s = (double)facts->job.period_ns / 1e9, ticks = facts_duration_s(facts) / period_s;
    return period_s > 0 && (double)facts->job.summary.gaps.ticks_late >= fmax(2, LATE_SHARE * ticks);
}

/* Describes what is missing, worst first; false if nothing is. */
static bool describe(const struct facts *facts, struct advice *advice)
{
    const struct summary *summary = &facts->job.summary;
    const struct run_gaps *gaps = &summary->gaps;
    advice->severity = SEVERITY_PROBLEM;
    bool by_agents = facts_only_from_agents(facts);
    if (!facts->job.ended && by_agents) {
        advice->severity = SEVERITY_NOTE;
        return false; /* it is still running */
    } else if (gaps->records_lost && by_agents) {
        rule_set_sentence(advice, "%s of its nodes are missing: the timeline has gaps.",
                          phrase_plural(gaps->records_lost, "sample", "samples").s);
        rule_set_fix(advice, "'sonde collect --status' shows which node, and why; increase the size of its journal.");
    } else if (!facts->job.ended) {
        rule_set_sentence(advice,
                          "Sonde was terminated before the job ended: the data covers only the time until then.");
        rule_set_fix(advice, "Find out what terminated it (time limit, kill -9, full disk) before relying on the data.");
    } else if (gaps->records_lost) {
        rule_set_sentence(advice, "%s could not be written: processes or threads may be missing.",
                          phrase_plural(gaps->records_lost, "record", "records").s);
        rule_set_fix(advice, "Free disk space for the spool ($TMPDIR, or sonde run -o DIR).");
    } else if (gaps->bytes_damaged) {
        rule_set_sentence(advice, "%s of the spool were damaged: processes or threads may be missing.",
                          phrase_bytes((double)gaps->bytes_damaged).s);
        rule_set_fix(advice, "Check the disk of the spool ($TMPDIR, or sonde run -o DIR).");
    } else if (!by_agents && unrecorded_cpu_s(summary) > 0) {
        rule_set_sentence(advice, "%s of CPU time, %s of the total, belong to processes that were not recorded.",
                          phrase_duration(unrecorded_cpu_s(summary)).s,
                          phrase_percent(unrecorded_cpu_s(summary) / facts_cpu_s(facts)).s);
        rule_set_fix(advice, "The total is correct, the table of processes is incomplete; 'sonde doctor' shows what is "
                             "missing.");
    } else {
        advice->severity = SEVERITY_NOTE;
        return false;
    }
    return true;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct summary *summary = &facts->job.summary;
    advice->weight = 0.5;
    if (describe(facts, advice))
        return true;
    if (summary->gaps.events_lost) {
        rule_set_sentence(advice, "%s lost: data of processes without the probe may be missing.",
                          phrase_plural(summary->gaps.events_lost, "kernel event", "kernel events").s);
        rule_set_fix(advice, "Run Sonde as root, which allows a larger socket buffer, or increase net.core.rmem_max.");
        return true;
    }
    if (!many_late(facts))
        return false;
    rule_set_sentence(advice, "%s taken late: the timeline is coarser than requested.",
                      phrase_plural(summary->gaps.ticks_late, "sample was", "samples were").s);
    rule_set_fix(advice, "The node was too busy for this interval: use a longer one (sonde run -p).");
    return true;
}

const struct rule rule_incomplete = { .name = "holes", .judge = judge };
