/* Event names of libpfm4, which is loaded on demand and may be missing. */
#ifndef SONDE_PROC_PERF_PFM_H
#define SONDE_PROC_PERF_PFM_H

#include "proc/perf.h"

#include <stdbool.h>

/* ABSENT: the library is not installed or does not initialise; USAGE: no such event on this processor, with the
 * library's message in reason. */
enum err perf_pfm_encode(const char *name, struct perf_event_spec *spec, char *reason, size_t reason_size);

/* Is the library installed and usable? */
bool perf_pfm_is_available(void);

#endif
