/* rusage in the names and units of our counters. */
#include "watch/usage.h"

static uint64_t microseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

void usage_counters(const struct rusage *usage, struct counters *counters)
{
    *counters = (struct counters){ 0 };
    counters_set(counters, COUNTER_usertime, microseconds(usage->ru_utime));
    counters_set(counters, COUNTER_systemtime, microseconds(usage->ru_stime));
    counters_set(counters, COUNTER_rssmax, (uint64_t)usage->ru_maxrss);
    counters_set(counters, COUNTER_minflt, (uint64_t)usage->ru_minflt);
    counters_set(counters, COUNTER_majflt, (uint64_t)usage->ru_majflt);
    counters_set(counters, COUNTER_inblock, (uint64_t)usage->ru_inblock);
    counters_set(counters, COUNTER_outblock, (uint64_t)usage->ru_oublock);
    counters_set(counters, COUNTER_vol_ctxsw, (uint64_t)usage->ru_nvcsw);
    counters_set(counters, COUNTER_invol_ctxsw, (uint64_t)usage->ru_nivcsw);
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
