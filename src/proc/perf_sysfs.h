/* Events of the performance monitoring units that sysfs describes: PMU/event/ and PMU/term=value,…/. */
#ifndef SONDE_PROC_PERF_SYSFS_H
#define SONDE_PROC_PERF_SYSFS_H

#include "proc/perf.h"

/* Reads the unit's type, formats and events below root ("" for this machine). ABSENT: no such unit; USAGE: the unit
 * has no such event or term, or the name does not parse. */
enum err perf_sysfs_encode(const char *root, const char *name, struct perf_event_spec *spec);

/* Puts value into the bits of config, config1 or config2 that a format such as "config:0-7,32-35" names. CORRUPT when
 * it does not parse. */
enum err perf_sysfs_apply(const char *format, uint64_t value, struct perf_event_spec *spec);

#endif
