/* Samples in InfluxDB's line protocol: a line per sample, the set is the measurement.
 *   meminfo,host=n1 mem_total=24682416i,mem_free=20593068i 1794767385123456789 */
#ifndef SONDE_SINKS_INFLUX_LINE_H
#define SONDE_SINKS_INFLUX_LINE_H

#include "model/batch.h"
#include "base/buf.h"

/* Adds a line, or nothing when no value is known. Tags: host, job, user, and the instance under the name of what it is (cpu,
 * device; "instance" where that is not said). What the protocol has no form for is left out: numbers that are not finite,
 * and whole ones over 2^63-1. */
void influx_line_sample(struct buf *out, const struct batch *batch, const struct sample *sample);

/* What happened to a job: job_event,event=begin,host=… job="4711" */
void influx_line_event(struct buf *out, const struct batch *batch, const struct batch_event *event);

/* What is missing for good: gap,host=…,reason=… batches=12i,from_ns=…,to_ns=… */
void influx_line_gap(struct buf *out, const struct batch *batch, const struct batch_gap *gap);

#endif
