/* Events of the PMUs that sysfs describes: PMU/event/ and PMU/term=value,…/. */
#ifndef SONDE_PROC_PERF_SYSFS_H
#define SONDE_PROC_PERF_SYSFS_H

#include "proc/perf.h"

/* Reads the PMU's type, formats and events below root ("" for this node). ABSENT: no such PMU; USAGE: the PMU has no
 * such event or term, or the name does not parse. */
enum err perf_sysfs_encode(const char *root, const char *name, struct perf_event_spec *spec);

/* Stores value in the bits of config, config1 or config2 that a format such as "config:0-7,32-35" names. CORRUPT: it
 * does not parse. */
enum err perf_sysfs_apply(const char *format, uint64_t value, struct perf_event_spec *spec);

#endif
