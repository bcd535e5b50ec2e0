/* Rule: the job was over before its shape could be sampled. Thresholds: under 5 periods, but 100 ms or more; a period
 * of over 10 ms, the shortest there is. */
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
    if (period_s <= PERIOD_MIN_S || duration_s < DURATION_MIN_S || duration_s >= PERIODS_MIN * period_s)
        return false;
    double better_s = fmax(1, floor(duration_s / SAMPLES_WANTED / PERIOD_MIN_S)) * PERIOD_MIN_S;
    advice->severity = SEVERITY_NOTE;
    advice->weight = 0.1;
    rule_say(advice, "The job took %s and was sampled every %s: too rarely to see its course.",
             say_seconds(duration_s).s, say_seconds(period_s).s);
    rule_advise(advice, "Sample with sonde run -p %s.", say_period(better_s).s);
    return true;
}

const struct rule rule_too_short = { .name = "too-short", .needs = NEED_DURATION, .judge = judge };
