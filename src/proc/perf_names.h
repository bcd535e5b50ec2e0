/* The events that every Linux kernel has a name for, and raw ones. */
#ifndef SONDE_PROC_PERF_NAMES_H
#define SONDE_PROC_PERF_NAMES_H

#include "proc/perf.h"

/* Sets type and config. ABSENT when the name is not in the list. */
enum err perf_names_encode(const char *name, struct perf_event_spec *spec);

#endif
