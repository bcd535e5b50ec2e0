/* Rule: the job spent its time in many short processes. Thresholds: 20 % of the wall time in which only processes of
 * under 10 ms (and those that waited for them) ran, and 100 of them. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define WALL_SHARE 0.2
#define WASTE_SHARE 0.5
#define COUNT_MIN 100

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct summary *summary = &facts->job.summary;
    double share = (double)summary->short_wall_ns / 1e9 / facts_duration_s(facts);
    if (summary->short_processes < COUNT_MIN || share < WALL_SHARE)
        return false;
    const struct summary_executable *most = &facts->shortest;
    struct format_text mostly = { "" };
    if (most->short_count * 2 > summary->short_processes && most->name.size)
        mostly = phrase_name(most->name);
    advice->severity = share >= WASTE_SHARE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = share < 1 ? share : 1;
    rule_set_sentence(advice, "%s of the wall time was spent in %s of under 10 ms%s%s.",
                      phrase_fraction(share < 1 ? share : 1).s,
                      phrase_plural(summary->short_processes, "process", "processes").s, mostly.s[0] ? ", mostly " : "",
                      mostly.s);
    rule_set_fix(advice, "Do more in each: shell builtins instead of programs, xargs instead of a loop, one awk or "
                         "Python program instead of a pipeline per line.");
    return true;
}

const struct rule rule_short_processes = { .name = "short-processes", .needs = NEED_DURATION, .judge = judge };
