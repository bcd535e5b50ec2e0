/* The collector's own figures as samples of sets, so that /metrics and sonde ls show them as any others: of itself, of each
 * host that it hears, of each of its sinks. */
#ifndef SONDE_COLLECTOR_SELF_METRICS_H
#define SONDE_COLLECTOR_SELF_METRICS_H

#include "model/batch.h"

struct collector;

/* Adds them to batch; instances are borrowed from the collector, and valid until something comes in. */
enum err own_figures_add(struct batch *batch, struct collector *collector);

#endif
