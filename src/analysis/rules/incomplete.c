/* Rule: the record of the job is not whole. Thresholds: anything lost or damaged; 2 % of the CPU time that no process
 * seen accounts for; 10 % of the samples late. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>

#define UNSEEN_SHARE 0.02
#define UNSEEN_S 0.1
#define LATE_SHARE 0.1

/* The kernel counts every process that was waited for, also those that nobody told us of. */
static double unseen_cpu_s(const struct summary *summary)
{
    double total = (double)counters_cpu_us(&summary->total) / 1e6, sum = (double)counters_cpu_us(&summary->sum) / 1e6;
    return total - sum >= UNSEEN_S && total - sum >= UNSEEN_SHARE * total ? total - sum : 0;
}

static bool many_late(const struct facts *facts)
{
    double period_s = (double)facts->job.period_ns / 1e9, ticks = facts_duration_s(facts) / period_s;
    return period_s > 0 && (double)facts->job.summary.gaps.ticks_late >= fmax(2, LATE_SHARE * ticks);
}

/* What is missing, worst first; false when nothing is. */
static bool say(const struct facts *facts, struct advice *advice)
{
    const struct summary *summary = &facts->job.summary;
    const struct run_gaps *gaps = &summary->gaps;
    advice->severity = SEVERITY_PROBLEM;
    bool by_agents = facts_by_agents(facts);
    if (!facts->job.ended && by_agents) {
        advice->severity = SEVERITY_NOTE;
        return false; /* it goes on */
    } else if (gaps->records_lost && by_agents) {
        rule_say(advice, "%s of its nodes are missing: the curves have holes.",
                 say_many(gaps->records_lost, "reading", "readings").s);
        rule_advise(advice, "sonde collect --status tells which node, and why; give its spool more room.");
    } else if (!facts->job.ended) {
        rule_say(advice, "Sonde was ended before the job: the numbers go as far as it saw.");
        rule_advise(advice, "Look who ended it (time limit, kill -9, a full disk) before relying on them.");
    } else if (gaps->records_lost) {
        rule_say(advice, "%s could not be written: processes or threads may be missing.",
                 say_many(gaps->records_lost, "record", "records").s);
        rule_advise(advice, "Make room where the spool is written ($TMPDIR, or sonde run -o DIR).");
    } else if (gaps->bytes_damaged) {
        rule_say(advice, "%s of the spool were damaged: processes or threads may be missing.",
                 say_bytes((double)gaps->bytes_damaged).s);
        rule_advise(advice, "Check the disk on which the spool is written ($TMPDIR, or sonde run -o DIR).");
    } else if (!by_agents && unseen_cpu_s(summary) > 0) {
        rule_say(advice, "%s of CPU time, %s of the whole, belong to processes that were not seen.",
                 say_seconds(unseen_cpu_s(summary)).s, say_share(unseen_cpu_s(summary) / facts_cpu_s(facts)).s);
        rule_advise(advice, "The total is right, the table of processes is not whole; sonde doctor tells what is "
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
    if (say(facts, advice))
        return true;
    if (summary->gaps.events_lost) {
        rule_say(advice, "The kernel dropped %s to Sonde: processes without the probe may lack numbers.",
                 say_many(summary->gaps.events_lost, "message", "messages").s);
        rule_advise(advice, "As root, Sonde takes a larger socket buffer (or raise net.core.rmem_max).");
        return true;
    }
    if (!many_late(facts))
        return false;
    rule_say(advice, "%s came late: the curves over time are coarser than asked for.",
             say_many(summary->gaps.ticks_late, "sample", "samples").s);
    rule_advise(advice, "The machine was too busy for this period: take a longer one (sonde run -p).");
    return true;
}

const struct rule rule_holes = { .name = "holes", .judge = judge };
