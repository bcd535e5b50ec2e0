/* Energy counters of the kernel's perf unit "power": where powercap is not there or is not for this user, and what it does
 * not have. */
#ifndef SONDE_SAMPLERS_RAPL_PERF_H
#define SONDE_SAMPLERS_RAPL_PERF_H

#include "samplers/rapl_meter.h"

/* Adds an event per domain and package (or die), unless meters has it already. Takes a few ms: a counter that does not
 * move, as virtual machines have them, is left out. ABSENT, DENIED (kernel.perf_event_paranoid). */
enum err rapl_perf_find(const char *root, struct rapl_meters *meters);

#endif
