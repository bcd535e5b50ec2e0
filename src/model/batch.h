/* The samples of one tick, of several metric sets, and what belongs to them: jobs, events, gaps. */
#ifndef SONDE_MODEL_BATCH_H
#define SONDE_MODEL_BATCH_H

#include "base/buf.h"
#include "model/job.h"
#include "model/metric.h"

#include <stdbool.h>
#include <stddef.h>

#define SET_NAME_MAX 32
#define SET_METRICS_MAX 4096

/* A metric set: an ordered list of metrics that are read together. Immutable. */
struct set {
    const char *name;
    const struct metric *metrics;
    size_t size;
    const char *instances; /* kind of its instances: "cpu", "device", "zone"; NULL: unspecified */
};

/* One set, read once. Borrows set and instance; owns nothing. */
struct sample {
    const struct set *set;
    uint64_t time_ns;
    const char *instance; /* "eth0", "cpu3", "" */
    const union value *values; /* set->size values */
    const uint8_t *known;      /* set->size values, 0 or 1; NULL: all are known */
    const char *job;           /* id; NULL: the node */
};

/* A job on the host started, changed or ended. */
struct batch_event {
    enum job_event event;
    const struct job *job;
};

/* Samples of a host that are lost: the journal was full, or a record was damaged. */
struct batch_gap {
    uint64_t from_ns, to_ns; /* times of the first and last; 0: unknown */
    uint64_t batches;        /* number of lost batches */
    const char *reason;      /* "journal full", "journal too old", "damaged", … */
};

/* Part of the spool of a run that has ended on the host (sonde run). */
struct batch_piece {
    const char *name;       /* of the run, unique for this user and host */
    uint32_t uid;           /* user who submitted it, from the kernel of the host */
    uint64_t offset, total; /* in bytes */
    struct bytes data;
    const char *user;       /* name of uid on the host; "" or NULL: unknown */
};

/* Memory is reused: nothing is allocated once it has grown to its peak. */
struct batch {
    struct sample *samples;
    size_t count, capacity;
    union value *values; /* of all samples */
    uint8_t *known;
    size_t values_used, values_capacity;
    const char *host; /* borrowed; NULL: this node */

    uint64_t read_ns; /* how long reading the sensor took; 0: unknown */
    bool is_part; /* set by a sampler that returns only some of its samples this time: the others have not ended */

    /* All borrowed; set by the producer after batch_reset, which clears them. */
    const struct job *const *jobs; /* on the host at this time */
    size_t job_count;
    const struct batch_event *events; /* a job that has ended is still in jobs */
    size_t event_count;
    const struct batch_gap *gaps;
    size_t gap_count;
    const struct batch_piece *piece; /* if set, the batch has nothing else */

    /* Globally unique together with host, and the same when the batch is delivered again, so that sinks can drop duplicates.
     * Both 0: directly from the samplers. */
    uint64_t stream, sequence;
    uint64_t position; /* in the journal that it was read from, for sinks that save their position; 0: none */
};

/* The job of a sample; NULL: a sample of the node, or a job of which only the id is known. */
const struct job *batch_job(const struct batch *batch, const struct sample *sample);

void batch_init(struct batch *batch);
void batch_clear(struct batch *batch);
void batch_reset(struct batch *batch); /* empties, keeps memory */

size_t batch_value_count(const struct batch *batch); /* of known values */

/* Adds a sample whose values are all unknown, to be filled in by the caller. NULL: out of memory. Valid until the next call on
 * batch. Set and instance are borrowed until batch_reset. */
struct sample *batch_add(struct batch *batch, const struct set *set, uint64_t time_ns, const char *instance);

/* Writes value i of a sample that batch_add returned, and marks it known. */
static inline void sample_set_u64(struct sample *sample, size_t i, uint64_t value)
{
    ((union value *)sample->values)[i].u64 = value;
    ((uint8_t *)sample->known)[i] = 1;
}

static inline void sample_set_f64(struct sample *sample, size_t i, double value)
{
    ((union value *)sample->values)[i].f64 = value;
    ((uint8_t *)sample->known)[i] = 1;
}

#endif
