/* Samples of what programs tell (model/program_sets.h): of the node and of jobs that are known, only what has changed since the
 * last time. From the table of programs to sinks, the wire, the spool of a run. */
#ifndef SONDE_APPMETRICS_PROGRAM_SAMPLES_H
#define SONDE_APPMETRICS_PROGRAM_SAMPLES_H

#include "model/batch.h"
#include "appmetrics/registry.h"

/* Takes the table's lock. The samples borrow names of metrics and scopes, which stay until it is called again, or
 * a scope is dropped. */
void program_samples_add(struct registry *registry, struct batch *batch, uint64_t time_ns);

#endif
