/* Rule: cores that were allowed stood idle. Thresholds: under 60 % of 2 or more cores on average, in a job of 1 s or
 * more; waste when under 30 %. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define USED_SHARE 0.6
#define WASTE_SHARE 0.3
#define CORES_MIN 1.5
#define DURATION_MIN_S 1
#define PEAK_SHARE 0.75 /* peaks over this make fewer cores a doubtful advice */

static struct text were(double cores)
{
    struct text text, number = say_cores(cores);
    bool one = strcmp(number.s, "1") == 0;
    snprintf(text.s, sizeof text.s, one ? "%.20s was" : "%.20s were", number.s);
    return text;
}

static void advise(struct advice *advice, const struct facts *facts)
{
    double peak = shape_peak(&facts->shape, SHAPE_CPU), allowed = facts_cores_allowed(facts);
    const char *more = "start more at once (make -j, xargs -P, OMP_NUM_THREADS, more ranks)";
    if (facts->shape.samples >= RULE_SAMPLES_MIN && ceil(peak - 0.1) <= allowed * PEAK_SHARE)
        rule_advise(advice, "No more than %s busy at any time: ask for %s, or %s.", were(peak).s,
                    say_many(say_whole(fmax(1, ceil(peak - 0.1))), "core", "cores").s, more);
    else
        rule_advise(advice, "Ask for fewer cores, or %s.", more);
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double used = facts_cores_used(facts), allowed = facts_cores_allowed(facts);
    if (allowed < CORES_MIN || facts_duration_s(facts) < DURATION_MIN_S || used >= USED_SHARE * allowed)
        return false;
    if (facts_cores_wanted(facts) >= USED_SHARE * allowed)
        return false; /* there was enough to do, but no CPU for it: analysis/rules/run_queue.c */
    advice->severity = used < WASTE_SHARE * allowed ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = 1 - used / allowed;
    struct text cores = say_cores(used);
    rule_say(advice, "%s of %s cores %s used on average (%s).", cores.s, say_cores(allowed).s,
             strcmp(cores.s, "1") == 0 ? "was" : "were", say_share(used / allowed).s);
    advise(advice, facts);
    return true;
}

const struct rule rule_cores_unused = {
    .name = "cores-unused", .needs = NEED_DURATION | NEED_CPU | NEED_CORES, .unless = "mostly-waiting", .judge = judge,
};
