/* Rule: phases in which the job transferred data but did not compute. Thresholds: 20 % of the time and 2 s with under
 * half a core busy and 10 MiB/s or more from or to storage. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define IDLE_CORES 0.5
#define RATE_MIN (10 * 1048576.0)
#define TIME_SHARE 0.2
#define TIME_MIN_S 2

static bool judge(const struct facts *facts, struct advice *advice)
{
    double bins = 0, rate = 0;
    for (int bin = 0; bin < TIMELINE_BINS; bin++) {
        if (facts->timeline.line[TIMELINE_CPU][bin] < IDLE_CORES && facts->timeline.line[TIMELINE_STORAGE][bin] >= RATE_MIN) {
            bins++;
            rate += facts->timeline.line[TIMELINE_STORAGE][bin];
        }
    }
    double share = bins / TIMELINE_BINS, seconds = share * facts_duration_s(facts);
    if (share < TIME_SHARE || seconds < TIME_MIN_S)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = share;
    rule_set_sentence(advice,
                      "For %s (%s of the time) the job transferred data from or to storage (%s/s) and hardly computed.",
                      phrase_duration(seconds).s, phrase_percent(share).s, phrase_bytes(rate / bins).s);
    rule_set_fix(advice, "Overlap I/O with computation, stage files on a faster disk, or transfer less (compression, "
                         "fewer checkpoints).");
    return true;
}

const struct rule rule_io_phases = {
    .name = "io-phases", .needs = NEED_DURATION | NEED_TIMELINE, .unless = "block-io", .judge = judge,
};
