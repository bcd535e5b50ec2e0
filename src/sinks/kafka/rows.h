/* Encodes a batch as rows, as JSON or MessagePack: one per sample, job event and gap, with the metric set for its
 * topic name and the message key, which keeps a job on one partition. */
#ifndef SONDE_SINKS_KAFKA_ROWS_H
#define SONDE_SINKS_KAFKA_ROWS_H

#include "base/buf.h"
#include "compat/ldms/batch.h"
#include "model/batch.h"

enum kafka_format { KAFKA_JSON, KAFKA_MSGPACK, KAFKA_WIRE };

struct kafka_rows {
    enum kafka_format format;
    bool ldms; /* use LDMS's names of fields and metrics */
    const struct ldms_row *ldms_rows; /* with ldms: one per sample of the batch, set by the caller */
    struct buf pairs; /* content of a MessagePack map, whose size is written first */
};

/* Identifies a batch: its own ids, or for a batch straight from the samplers, which has none, ids of the sink. */
struct kafka_batch_id {
    const char *host;
    uint64_t stream, sequence;
};

void kafka_rows_init(struct kafka_rows *rows, enum kafka_format format, bool ldms);
void kafka_rows_clear(struct kafka_rows *rows);

/* Number of rows of a batch: its samples, then its events, then its gaps. */
size_t kafka_rows_count(const struct batch *batch);

/* The metric set of row `place` ("meminfo", "jobs", "gaps"), and its key: the job, or the host if there is no job. */
const char *kafka_rows_set(const struct batch *batch, size_t place);
const char *kafka_rows_key(const struct batch *batch, const struct kafka_batch_id *batch_id, size_t place);

/* Adds the row to out; errors are recorded in out. */
void kafka_rows_add(struct kafka_rows *rows, const struct batch *batch, const struct kafka_batch_id *batch_id, size_t place,
                    struct buf *out);

#endif
