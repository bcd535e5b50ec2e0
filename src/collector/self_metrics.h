/* The collector's own metrics as samples, so that /metrics and sonde ls show them like any others: of the collector, of
 * each known host, of each sink. */
#ifndef SONDE_COLLECTOR_SELF_METRICS_H
#define SONDE_COLLECTOR_SELF_METRICS_H

#include "model/batch.h"

struct collector;

/* Adds them to batch. Instance names are borrowed from the collector, and valid until the next message is handled. */
enum err self_metrics_add(struct batch *batch, struct collector *collector);

#endif
