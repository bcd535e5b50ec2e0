/* Names of the kernel's generic events, and raw events. */
#ifndef SONDE_PROC_PERF_NAMES_H
#define SONDE_PROC_PERF_NAMES_H

#include "proc/perf.h"

/* Sets type and config. ABSENT: unknown name. */
enum err perf_names_encode(const char *name, struct perf_event_spec *spec);

#endif
