/* Converts struct rusage to counters, absolute or as a difference. */
#include "run/usage.h"

#include "model/rusage.h"

void usage_counters(const struct rusage *usage, struct counters *counters)
{
    *counters = (struct counters){ 0 };
    rusage_set(counters, usage);
}

void usage_counters_since(const struct rusage *usage, const struct rusage *before, struct counters *counters)
{
    struct counters earlier;
    usage_counters(usage, counters);
    usage_counters(before, &earlier);
    counters_subtract(counters, &earlier);
    if (before->ru_maxrss && before->ru_maxrss >= usage->ru_maxrss)
        counters->known &= ~(1ull << COUNTER_rssmax);
}
