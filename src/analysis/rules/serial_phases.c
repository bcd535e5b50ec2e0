/* Rule: a parallel job had phases in which one core worked and the others waited. Thresholds: 20 % of the time and 2 s
 * with 0.5 to 1.2 cores busy, and 10 % of the time with 1.5 or more. */
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
    int longest_from, longest;      /* bins: the longest serial stretch */
};

static struct phases find_phases(const struct shape *shape)
{
    struct phases phases = { 0 };
    int stretch = 0;
    for (int bin = 0; bin < SHAPE_BINS; bin++) {
        double cores = shape->line[SHAPE_CPU][bin]; /* NAN fails every comparison */
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
    phases.serial /= SHAPE_BINS;
    phases.parallel /= SHAPE_BINS;
    return phases;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    struct phases phases = find_phases(&facts->shape);
    double serial_s = phases.serial * facts_duration_s(facts), bin_s = shape_bin_s(&facts->shape);
    if (facts_cores_allowed(facts) < CORES_MIN || phases.serial < SERIAL_SHARE || serial_s < SERIAL_S ||
        phases.parallel < PARALLEL_SHARE)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = phases.serial;
    rule_say(advice, "For %s (%s of the time) only one core was busy, though %s were at other times.",
             say_seconds(serial_s).s, say_share(phases.serial).s, say_cores(phases.cores).s);
    rule_advise(advice,
                "See what ran from %s to %s after the start, the longest such stretch, and split it or start it "
                "beside something else.",
                say_offset(phases.longest_from * bin_s).s,
                say_offset((phases.longest_from + phases.longest) * bin_s).s);
    return true;
}

const struct rule rule_serial_phases = {
    .name = "serial-phases", .needs = NEED_DURATION | NEED_CORES | NEED_SHAPE, .unless = "run-queue",
    .judge = judge,
};
