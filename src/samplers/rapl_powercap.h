/* Energy counters of powercap: /sys/class/powercap/intel-rapl:P (name "package-0", "psys") and intel-rapl:P:N ("core",
 * "dram" of that package). AMD's processors have the same names; their "core" is left out, since it is one core's. */
#ifndef SONDE_SAMPLERS_RAPL_POWERCAP_H
#define SONDE_SAMPLERS_RAPL_POWERCAP_H

#include "samplers/rapl_meter.h"

/* Adds what can be read. intel-rapl-mmio, which shows the same counters by another way, only where the first is not.
 * ABSENT: there is none; DENIED: there are, and this user may read none of them. */
enum err rapl_powercap_find(const char *root, struct rapl_meters *meters);

#endif
