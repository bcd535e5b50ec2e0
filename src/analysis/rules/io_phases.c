/* Rule: phases in which the job moved data and did not compute. Thresholds: 20 % of the time and 2 s with under half a
 * core busy and 10 MiB/s or more from or to storage. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define IDLE_CORES 0.5
#define RATE_MIN (10 * 1048576.0)
#define TIME_SHARE 0.2
#define TIME_MIN_S 2

static bool judge(const struct facts *facts, struct advice *advice)
{
    double bins = 0, rate = 0;
    for (int bin = 0; bin < SHAPE_BINS; bin++) {
        if (facts->shape.line[SHAPE_CPU][bin] < IDLE_CORES && facts->shape.line[SHAPE_STORAGE][bin] >= RATE_MIN) {
            bins++;
            rate += facts->shape.line[SHAPE_STORAGE][bin];
        }
    }
    double share = bins / SHAPE_BINS, seconds = share * facts_duration_s(facts);
    if (share < TIME_SHARE || seconds < TIME_MIN_S)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = share;
    rule_say(advice, "For %s (%s of the time) the job moved data from or to storage, %s/s, and hardly computed.",
             say_seconds(seconds).s, say_share(share).s, say_bytes(rate / bins).s);
    rule_advise(advice, "Let reading and writing run beside the computation, stage files on a faster disk, or move "
                        "less (compression, fewer checkpoints).");
    return true;
}

const struct rule rule_io_phases = {
    .name = "io-phases", .needs = NEED_DURATION | NEED_SHAPE, .unless = "block-io", .judge = judge,
};
