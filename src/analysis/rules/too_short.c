/* Rule: the job ended before a timeline could be sampled. Thresholds: fewer samples than a timeline needs; under 5
 * intervals, but 100 ms or more; an interval of over 10 ms, the minimum. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>

#define PERIODS_MIN 5
#define DURATION_MIN_S 0.1
#define PERIOD_MIN_S 0.01
#define SAMPLES_WANTED 50

static bool judge(const struct facts *facts, struct advice *advice)
{
    double duration_s = facts_duration_s(facts), period_s = (double)facts->job.period_ns / 1e9;
    if (facts->timeline.samples >= TIMELINE_SAMPLES_MIN)
        return false;
    if (period_s <= PERIOD_MIN_S || duration_s < DURATION_MIN_S || duration_s >= PERIODS_MIN * period_s)
        return false;
    double better_s = fmax(1, floor(duration_s / SAMPLES_WANTED / PERIOD_MIN_S)) * PERIOD_MIN_S;
    advice->severity = SEVERITY_NOTE;
    advice->weight = 0.1;
    rule_set_sentence(advice, "The job took %s and was sampled every %s: too few samples for a timeline.",
                      phrase_duration(duration_s).s, phrase_duration(period_s).s);
    rule_set_fix(advice, "Use a shorter interval: sonde run -p %s.", phrase_interval(better_s).s);
    return true;
}

const struct rule rule_too_short = { .name = "too-short", .needs = NEED_DURATION, .judge = judge };
