/* What a batch becomes in Kafka: a row for each sample, each event of a job and each gap, as JSON or MessagePack, with the set
 * that names its topic and the key that keeps a job in order. */
#ifndef SONDE_SINKS_KAFKA_ROWS_H
#define SONDE_SINKS_KAFKA_ROWS_H

#include "base/buf.h"
#include "model/batch.h"

enum kafka_format { KAFKA_JSON, KAFKA_MSGPACK, KAFKA_WIRE };

struct kafka_rows {
    enum kafka_format format;
    bool ldms; /* names of fields and metrics as LDMS has them */
    struct buf pairs; /* of a MessagePack map, until it is known how many there are */
};

/* Which batch: as the batch says, or where it comes straight from the sensors as its sender counts. */
struct kafka_mark {
    const char *host;
    uint64_t stream, sequence;
};

void kafka_rows_init(struct kafka_rows *rows, enum kafka_format format, bool ldms);
void kafka_rows_clear(struct kafka_rows *rows);

/* How many rows a batch has: its samples, then its events, then its gaps. */
size_t kafka_rows_count(const struct batch *batch);

/* Of the row at place: its set ("meminfo", "jobs", "gaps"), and its key: the job, or the host where there is none. */
const char *kafka_rows_set(const struct batch *batch, size_t place);
const char *kafka_rows_key(const struct batch *batch, const struct kafka_mark *mark, size_t place);

/* Adds the row to out. Errors are those of out. */
void kafka_rows_add(struct kafka_rows *rows, const struct batch *batch, const struct kafka_mark *mark, size_t place,
                    struct buf *out);

#endif
