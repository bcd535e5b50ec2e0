/* Rule: processes were blocked by storage. Thresholds: 20 % of the time in which they ran or were blocked, 1 s in
 * total. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define BLOCKED_SHARE 0.2
#define WASTE_SHARE 0.5
#define BLOCKED_MIN_S 1

static bool judge(const struct facts *facts, struct advice *advice)
{
    double blocked_us, blocked_s, share;
    facts_sum(facts, COUNTER_delayacct_blkio_time, &blocked_us);
    blocked_s = blocked_us / 1e6;
    share = blocked_s / (blocked_s + facts_cpu_s(facts));
    if (blocked_s < BLOCKED_MIN_S || !(share >= BLOCKED_SHARE))
        return false;
    advice->severity = share >= WASTE_SHARE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = share;
    rule_set_sentence(advice, "Processes were blocked by storage for %s, %s of the time they ran or were blocked.",
                      phrase_duration(blocked_s).s, phrase_percent(share).s);
    rule_set_fix(advice, "Read larger blocks and read ahead, keep frequently used files on a local disk ($TMPDIR) or "
                         "in memory, or process several files in parallel.");
    return true;
}

const struct rule rule_block_io = {
    .name = "block-io", .needs = NEED_CPU, .counters = RULE_COUNTER(delayacct_blkio_time), .judge = judge,
};
