/* Converts the kernel's struct rusage to counters. */
#ifndef SONDE_RUN_USAGE_H
#define SONDE_RUN_USAGE_H

#include "model/counters.h"

#include <sys/resource.h>

void usage_counters(const struct rusage *usage, struct counters *counters);

/* The difference to `before`; peak memory is known only if it has grown since. */
void usage_counters_since(const struct rusage *usage, const struct rusage *before, struct counters *counters);

#endif
