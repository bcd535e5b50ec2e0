/* Energy counters of the kernel's perf unit "power": where powercap is not there, or is not for this user. */
#ifndef SONDE_SAMPLE_RAPL_PERF_H
#define SONDE_SAMPLE_RAPL_PERF_H

#include "sample/rapl_meter.h"

/* Adds an event per domain and package. Takes a few ms: a counter that does not move, as virtual machines have them, is
 * left out. ABSENT, DENIED (kernel.perf_event_paranoid). */
enum err rapl_perf_find(const char *root, struct rapl_meters *meters);

#endif
