/* Rule: much more memory was asked for than used. Thresholds: under 25 % of a limit of 2 GiB or more that is smaller
 * than the machine (so somebody asked for it), in a job of 10 s or more. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>

#define GIB 1073741824.0
#define USED_SHARE 0.25
#define LIMIT_MIN (2 * GIB)
#define DURATION_MIN_S 10
#define SLACK 1.5 /* what we advise, over the peak */

static bool judge(const struct facts *facts, struct advice *advice)
{
    double peak = facts_memory_peak(facts), limit = facts_memory_limit(facts);
    bool asked = facts->job.memory_limit_bytes && (double)facts->job.memory_bytes * 0.98 > limit;
    bool sampled = facts->job.summary.rss_peak_bytes || !isnan(shape_peak(&facts->shape, SHAPE_MEMORY));
    if (!asked || !sampled || limit < LIMIT_MIN || facts_duration_s(facts) < DURATION_MIN_S ||
        peak >= USED_SHARE * limit)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 1 - peak / limit;
    rule_say(advice, "Memory stayed under %s of the %s allowed (%s).", say_bytes(peak).s, say_bytes(limit).s,
             say_share(peak / limit).s);
    rule_advise(advice, "Ask for %s: the job may start earlier, and others find room beside it.",
                say_bytes(ceil(peak * SLACK / GIB) * GIB).s);
    return true;
}

const struct rule rule_memory_unused = {
    .name = "memory-unused", .needs = NEED_MEMORY | NEED_LIMIT | NEED_DURATION, .judge = judge,
};
