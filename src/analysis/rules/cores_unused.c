/* Rule: allocated cores were idle. Thresholds: under 60 % of 2 or more cores on average, in a job of 1 s or more; waste
 * if under 30 %. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define USED_SHARE 0.6
#define WASTE_SHARE 0.3
#define CORES_MIN 1.5
#define DURATION_MIN_S 1
#define PEAK_SHARE 0.75 /* with a higher peak, fewer cores may be too few */

static struct format_text were(double cores)
{
    struct format_text text, number = phrase_cores(cores);
    bool one = strcmp(number.s, "1") == 0;
    snprintf(text.s, sizeof text.s, one ? "%.20s was" : "%.20s were", number.s);
    return text;
}

static void advise(struct advice *advice, const struct facts *facts)
{
    double peak = timeline_peak(&facts->timeline, TIMELINE_CPU), allowed = facts_cores_allocated(facts);
    const char *more = "run more in parallel (make -j, xargs -P, OMP_NUM_THREADS, more ranks)";
    if (facts->timeline.samples >= RULE_SAMPLES_MIN && ceil(peak - 0.1) <= allowed * PEAK_SHARE)
        rule_set_fix(advice, "No more than %s busy at any time: request %s, or %s.", were(peak).s,
                     phrase_plural(phrase_round(fmax(1, ceil(peak - 0.1))), "core", "cores").s, more);
    else
        rule_set_fix(advice, "Request fewer cores, or %s.", more);
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double used = facts_cores_used(facts), allowed = facts_cores_allocated(facts);
    if (allowed < CORES_MIN || facts_duration_s(facts) < DURATION_MIN_S || used >= USED_SHARE * allowed)
        return false;
    if (facts_cores_wanted(facts) >= USED_SHARE * allowed)
        return false; /* there was enough work, but no CPU for it: analysis/rules/run_queue.c */
    advice->severity = used < WASTE_SHARE * allowed ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = 1 - used / allowed;
    struct format_text cores = phrase_cores(used);
    rule_set_sentence(advice, "%s of %s cores %s used on average (%s).", cores.s, phrase_cores(allowed).s,
                      strcmp(cores.s, "1") == 0 ? "was" : "were", phrase_percent(used / allowed).s);
    advise(advice, facts);
    return true;
}

const struct rule rule_cores_unused = {
    .name = "cores-unused", .needs = NEED_DURATION | NEED_CPU | NEED_CORES, .unless = "mostly-waiting", .judge = judge,
};
