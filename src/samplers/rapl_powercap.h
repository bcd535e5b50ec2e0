/* Energy counters of powercap: /sys/class/powercap/intel-rapl:P (name "package-0", "psys") and intel-rapl:P:N ("core",
 * "dram" of that package). AMD uses the same names; its "core" is left out, because it is that of a single core. */
#ifndef SONDE_SAMPLERS_RAPL_POWERCAP_H
#define SONDE_SAMPLERS_RAPL_POWERCAP_H

#include "samplers/rapl_meter.h"

/* Adds what can be read. intel-rapl-mmio, another interface to the same counters, is used only where intel-rapl is
 * missing. ABSENT: no counters; DENIED: there are some, but this user may not read any. */
enum err rapl_powercap_find(const char *root, struct rapl_meters *meters);

#endif
