/* Energy counters of the perf PMU "power": for nodes where powercap is missing or not readable, and for counters that
 * it lacks. */
#ifndef SONDE_SAMPLERS_RAPL_PERF_H
#define SONDE_SAMPLERS_RAPL_PERF_H

#include "samplers/rapl_meter.h"

/* Adds an event per domain and package (or die), unless meters already has it. Takes a few ms: counters that do not
 * move, as in virtual machines, are left out. ABSENT, DENIED (kernel.perf_event_paranoid). */
enum err rapl_perf_find(const char *root, struct rapl_meters *meters);

#endif
