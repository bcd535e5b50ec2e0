/* Samples as Prometheus's remote write 1.0 wants them: a WriteRequest in protobuf, written by hand. Names, units and labels are
 * those of /metrics (model/prom_name.h). Pieces of a request may be put one behind the other: that is a request too. */
#ifndef SONDE_SINKS_PROMETHEUS_REMOTE_WRITE_H
#define SONDE_SINKS_PROMETHEUS_REMOTE_WRITE_H

#include "model/batch.h"
#include "base/buf.h"

#define REMOTE_WRITE_LABELS_MAX 16

/* Labels that every series gets, as { "cluster", "alpha" }; borrowed. */
struct remote_write_label {
    const char *name, *value;
};

struct remote_write {
    struct buf *out; /* borrowed */
    struct remote_write_label fixed[REMOTE_WRITE_LABELS_MAX];
    size_t fixed_count;
    struct buf labels; /* of the sample at hand, all but the name */
};

void remote_write_init(struct remote_write *write, struct buf *out);
void remote_write_clear(struct remote_write *write);

/* The series of one sample, one value each. A sample of a job that ends with this batch is followed by the mark that nothing
 * more will come, so that it is not shown for minutes as if it still ran. */
void remote_write_sample(struct remote_write *write, const struct batch *batch, const struct sample *sample);

/* What is known of the jobs themselves: sonde_job_info, … */
void remote_write_jobs(struct remote_write *write, const struct batch *batch);

#endif
