/* Rule: much more memory was requested than used. Thresholds: under 25 % of a limit of 2 GiB or more that is smaller
 * than the memory of the node (so it was requested), in a job of 10 s or more. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>

#define GIB 1073741824.0
#define USED_SHARE 0.25
#define LIMIT_MIN (2 * GIB)
#define DURATION_MIN_S 10
#define SLACK 1.5 /* recommended limit, relative to the peak */

static bool judge(const struct facts *facts, struct advice *advice)
{
    double peak = facts_memory_peak(facts), limit = facts_memory_limit(facts);
    bool is_requested = facts->job.memory_limit_bytes && (double)facts->job.memory_bytes * 0.98 > limit;
    bool sampled = facts->job.summary.rss_peak_bytes || !isnan(timeline_peak(&facts->timeline, TIMELINE_MEMORY));
    if (!is_requested || !sampled || limit < LIMIT_MIN || facts_duration_s(facts) < DURATION_MIN_S ||
        peak >= USED_SHARE * limit)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 1 - peak / limit;
    rule_set_sentence(advice, "Memory stayed under %s of the %s allocated (%s).", phrase_bytes(peak).s,
                      phrase_bytes(limit).s, phrase_percent(peak / limit).s);
    rule_set_fix(advice, "Request %s: the job may start earlier, and leaves memory for other jobs.",
                 phrase_bytes(ceil(peak * SLACK / GIB) * GIB).s);
    return true;
}

const struct rule rule_memory_unused = {
    .name = "memory-unused", .needs = NEED_MEMORY | NEED_LIMIT | NEED_DURATION, .judge = judge,
};
