/* Encodes samples as a WriteRequest of Prometheus remote write 1.0, in protobuf. Names, units and labels are those
 * of /metrics (model/prom_name.h). Concatenated requests are a valid request too. */
#ifndef SONDE_SINKS_PROMETHEUS_REMOTE_WRITE_H
#define SONDE_SINKS_PROMETHEUS_REMOTE_WRITE_H

#include "model/batch.h"
#include "base/buf.h"

#define REMOTE_WRITE_LABELS_MAX 16

/* A label of every series: { "cluster", "alpha" }; borrowed. */
struct remote_write_label {
    const char *name, *value;
};

struct remote_write_group;

struct remote_write {
    struct buf *out; /* borrowed */
    struct remote_write_group *groups; /* what was written last, by hash */
    struct remote_write_label fixed[REMOTE_WRITE_LABELS_MAX];
    size_t fixed_count;
    struct buf labels; /* encoded labels of the current sample, without the name */
};

/* NOMEM. */
enum err remote_write_init(struct remote_write *write, struct buf *out);
void remote_write_clear(struct remote_write *write);

/* Adds a series per value of the sample, which is one of the batch. The last sample of a job is followed by a staleness
 * marker, so that Prometheus does not show the job as running for minutes. Times have a resolution of 1 ms: a sample that
 * was read in the same millisecond as the one before it in its series is written 1 ms later. */
void remote_write_sample(struct remote_write *write, const struct batch *batch, const struct sample *sample);

/* Adds the series about jobs: sonde_job_info, … Not for batches that are older than the last one. */
void remote_write_jobs(struct remote_write *write, const struct batch *batch);

#endif
