/* Rule: cores that were allowed stood idle. Thresholds: under 60 % of 2 or more cores on average, in a job of 1 s or more;
 * waste when under 30 %. */
#include "judge/rules.h"

#include "judge/say.h"

#include <math.h>

#define USED_SHARE 0.6
#define WASTE_SHARE 0.3
#define CORES_MIN 1.5
#define DURATION_MIN_S 1
#define PEAK_SHARE 0.75 /* peaks over this make fewer cores a doubtful advice */

static void advise(struct advice *advice, const struct facts *facts)
{
    double peak = shape_peak(&facts->shape, SHAPE_CPU), allowed = facts_cores_allowed(facts);
    const char *more = "start more at once (make -j, xargs -P, OMP_NUM_THREADS, more ranks)";
    if (facts->shape.samples >= RULE_SAMPLES_MIN && ceil(peak - 0.1) <= allowed * PEAK_SHARE)
        rule_advise(advice, "Never more than %s were busy at a time: ask for %s, or %s.", say_cores(peak).s,
                    say_many((uint64_t)fmax(1, ceil(peak - 0.1)), "core", "cores").s, more);
    else
        rule_advise(advice, "Ask for fewer cores, or %s.", more);
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double used = facts_cores_used(facts), allowed = facts_cores_allowed(facts);
    if (allowed < CORES_MIN || facts_duration_s(facts) < DURATION_MIN_S || used >= USED_SHARE * allowed)
        return false;
    advice->severity = used < WASTE_SHARE * allowed ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = 1 - used / allowed;
    rule_say(advice, "%s of %s cores were used on average (%s).", say_cores(used).s, say_cores(allowed).s,
             say_share(used / allowed).s);
    advise(advice, facts);
    return true;
}

const struct rule rule_cores_unused = {
    .name = "cores-unused", .needs = NEED_DURATION | NEED_CPU | NEED_CORES, .unless = "mostly-waiting", .judge = judge,
};
