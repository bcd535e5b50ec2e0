/* InfluxDB line protocol: a line per sample, with the metric set as measurement.
 *   meminfo,host=n1 mem_total=24682416i,mem_free=20593068i 1794767385123456789 */
#ifndef SONDE_SINKS_INFLUX_LINE_H
#define SONDE_SINKS_INFLUX_LINE_H

#include "model/batch.h"
#include "base/buf.h"

/* Adds a line, or nothing if all values are missing. Tags: host, job, user, and the instance, named after its kind
 * (cpu, device) or "instance". Skips values that the protocol cannot represent: NaN, infinities, and integers over
 * 2^63-1. */
void influx_line_sample(struct buf *out, const struct batch *batch, const struct sample *sample);

/* A job event: job_event,event=begin,host=… job="4711" */
void influx_line_event(struct buf *out, const struct batch *batch, const struct batch_event *event);

/* A gap: gap,host=…,reason=… batches=12i,from_ns=…,to_ns=… */
void influx_line_gap(struct buf *out, const struct batch *batch, const struct batch_gap *gap);

#endif
