/* Converts the result of getrusage and wait4 to counters. Inline, because the probe links almost nothing. */
#ifndef SONDE_MODEL_RUSAGE_H
#define SONDE_MODEL_RUSAGE_H

#include "model/counters.h"

#include <sys/resource.h>

/* Other counters are unchanged. */
static inline void rusage_set(struct counters *counters, const struct rusage *usage)
{
    counters_set(counters, COUNTER_usertime, (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec);
    counters_set(counters, COUNTER_systemtime, (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec);
    counters_set(counters, COUNTER_rssmax, (uint64_t)usage->ru_maxrss);
    counters_set(counters, COUNTER_minflt, (uint64_t)usage->ru_minflt);
    counters_set(counters, COUNTER_majflt, (uint64_t)usage->ru_majflt);
    counters_set(counters, COUNTER_inblock, (uint64_t)usage->ru_inblock);
    counters_set(counters, COUNTER_outblock, (uint64_t)usage->ru_oublock);
    counters_set(counters, COUNTER_vol_ctxsw, (uint64_t)usage->ru_nvcsw);
    counters_set(counters, COUNTER_invol_ctxsw, (uint64_t)usage->ru_nivcsw);
}

#endif
