/* Rule: a parallel job had phases in which only one core was busy. Thresholds: 20 % of the time and 2 s with 0.5 to 1.2
 * cores busy, and 10 % of the time with 1.5 or more. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define SERIAL_MIN 0.5
#define SERIAL_MAX 1.2
#define PARALLEL_MIN 1.5
#define SERIAL_SHARE 0.2
#define PARALLEL_SHARE 0.1
#define SERIAL_S 2
#define CORES_MIN 1.5

struct phases {
    double serial, parallel, cores; /* shares of the bins; cores: busy on average in the parallel ones */
    int longest_from, longest;      /* bins: the longest serial phase */
};

static struct phases find_phases(const struct timeline *timeline)
{
    struct phases phases = { 0 };
    int stretch = 0;
    for (int bin = 0; bin < TIMELINE_BINS; bin++) {
        double cores = timeline->line[TIMELINE_CPU][bin]; /* NAN fails every comparison */
        bool serial = cores >= SERIAL_MIN && cores <= SERIAL_MAX;
        stretch = serial ? stretch + 1 : 0;
        phases.serial += serial;
        if (stretch > phases.longest) {
            phases.longest = stretch;
            phases.longest_from = bin - stretch + 1;
        }
        if (cores >= PARALLEL_MIN) {
            phases.parallel++;
            phases.cores += cores;
        }
    }
    phases.cores = phases.parallel > 0 ? phases.cores / phases.parallel : 0;
    phases.serial /= TIMELINE_BINS;
    phases.parallel /= TIMELINE_BINS;
    return phases;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    struct phases phases = find_phases(&facts->timeline);
    double serial_s = phases.serial * facts_duration_s(facts), bin_s = timeline_bin_s(&facts->timeline);
    if (facts_cores_allocated(facts) < CORES_MIN || phases.serial < SERIAL_SHARE || serial_s < SERIAL_S ||
        phases.parallel < PARALLEL_SHARE)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = phases.serial;
    rule_set_sentence(advice, "For %s (%s of the time) only one core was busy, but %s at other times.",
                      phrase_duration(serial_s).s, phrase_percent(phases.serial).s, phrase_cores(phases.cores).s);
    rule_set_fix(advice, "Check what ran from %s to %s after the start, the longest such phase, and parallelize it or "
                         "overlap it with something else.", phrase_offset(phases.longest_from * bin_s).s,
                 phrase_offset((phases.longest_from + phases.longest) * bin_s).s);
    return true;
}

const struct rule rule_serial_phases = {
    .name = "serial-phases", .needs = NEED_DURATION | NEED_CORES | NEED_TIMELINE, .unless = "run-queue",
    .judge = judge,
};
