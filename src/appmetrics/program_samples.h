/* Samples of program metrics (model/program_sets.h): of the node and of known jobs, what has changed since the last
 * time. From the registry to sinks, the collector and the spool of a run. */
#ifndef SONDE_APPMETRICS_PROGRAM_SAMPLES_H
#define SONDE_APPMETRICS_PROGRAM_SAMPLES_H

#include "model/batch.h"
#include "appmetrics/registry.h"

/* Takes the registry's lock. The samples borrow names of metrics and jobs, which stay until the next call, or until a
 * scope is dropped. */
void program_samples_add(struct registry *registry, struct batch *batch, uint64_t time_ns);

#endif
