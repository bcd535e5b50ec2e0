/* Event names of libpfm4, which is opened when a name needs it and may be missing. */
#ifndef SONDE_PROC_PERF_PFM_H
#define SONDE_PROC_PERF_PFM_H

#include "proc/perf.h"

#include <stdbool.h>

/* ABSENT: the library is not installed or does not come up; USAGE: it knows no such event on this processor (reason:
 * its words). */
enum err perf_pfm_encode(const char *name, struct perf_event_spec *spec, char *reason, size_t reason_size);

/* Is the library installed, and does it come up? */
bool perf_pfm_is_available(void);

#endif
