/* Samples of one tick: several sets, each with its schema and the values read together. */
#ifndef SONDE_MODEL_BATCH_H
#define SONDE_MODEL_BATCH_H

#include "base/buf.h"
#include "model/job.h"
#include "model/metric.h"

#include <stdbool.h>
#include <stddef.h>

#define SET_NAME_MAX 32
#define SET_METRICS_MAX 4096

/* An ordered list of metrics that are read together. Constant once made. */
struct set {
    const char *name;
    const struct metric *metrics;
    size_t size;
    const char *instances; /* what its instances are: "cpu", "device", "zone"; NULL: not said */
};

/* One set, read once. Borrows set and instance; owns nothing. */
struct sample {
    const struct set *set;
    uint64_t time_ns;
    const char *instance; /* "eth0", "cpu3", "" */
    const union value *values; /* set->size of them */
    const uint8_t *known;      /* set->size of them, 0 or 1; NULL: all are known */
    const char *job;           /* its id; NULL: the node itself */
};

/* Something happened to a job on the host of a batch. */
struct batch_event {
    enum job_event event;
    const struct job *job;
};

/* Samples of a host that are gone for good: a spool overflowed, or a message could not be read. */
struct batch_gap {
    uint64_t from_ns, to_ns; /* times of the first and of the last of them; 0: not known */
    uint64_t batches;        /* how many */
    const char *reason;      /* "journal full", "journal too old", "damaged", … */
};

/* A piece of the spool of a run that has ended on the host: the processes that sonde run has seen there. */
struct batch_piece {
    const char *name;       /* the run's, unique for ever */
    uint32_t uid;           /* who handed it over */
    uint64_t offset, total; /* of all pieces: in bytes */
    struct bytes data;
};

/* Grows to its high-water mark and is then used again without allocation. */
struct batch {
    struct sample *samples;
    size_t count, capacity;
    union value *values; /* arena of the values of all samples */
    uint8_t *known;
    size_t values_used, values_capacity;
    const char *host; /* where all of it was read; borrowed; NULL: here */

    bool is_part; /* said by a sampler: it has more than it gave this time, and what is not in it is not over */

    /* What belongs to the samples; all borrowed, set by whoever made the batch after batch_reset, which forgets it. */
    const struct job *const *jobs; /* those on the host at this time: whose a sample is, which jobs a node's sample touches */
    size_t job_count;
    const struct batch_event *events; /* a job that ended is still among jobs in the batch that tells so */
    size_t event_count;
    const struct batch_gap *gaps;
    size_t gap_count;
    const struct batch_piece *piece; /* then there is nothing else in the batch; NULL: none */

    /* Together with the host unique for ever, and the same when the batch is delivered again: what makes writing it twice
     * harmless. Both 0: it comes straight from the sensors. */
    uint64_t stream, sequence;
    uint64_t position; /* in the journal that it was read from, for sinks that remember where they were; 0: none */
};

/* The job of a sample, or NULL: the node's own, or a job of which no more than the id is known. */
const struct job *batch_job(const struct batch *batch, const struct sample *sample);

void batch_init(struct batch *batch);
void batch_clear(struct batch *batch);
void batch_reset(struct batch *batch); /* empties, keeps memory */

/* Adds a sample whose values are all unknown and returns the place to write them, or NULL when memory ran out. The
 * returned sample is valid until the next call on batch. Set and instance are borrowed until batch_reset. */
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
