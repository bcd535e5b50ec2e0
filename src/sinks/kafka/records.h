/* format=wire: encodes batches as delta-coded records for `sonde collect --from-kafka`, one encoder per stream, each
 * record in an envelope (transport/kafka_envelope.h). */
#ifndef SONDE_SINKS_KAFKA_RECORDS_H
#define SONDE_SINKS_KAFKA_RECORDS_H

#include "base/buf.h"
#include "model/batch.h"
#include "sinks/kafka/rows.h"

struct kafka_records; /* one thread */

/* snapshot_ns: interval of records that carry a snapshot of the encoder state. */
enum err kafka_records_new(struct kafka_records **records, uint64_t snapshot_ns);
void kafka_records_free(struct kafka_records **records);

/* Makes the next record of each stream carry a snapshot, because a record before it was dropped. */
void kafka_records_reset(struct kafka_records *records);

/* Adds the envelope of a batch to out. A batch that is added twice is encoded differently each time. FULL: over a
 * limit of journal/stream.h. */
enum err kafka_records_add(struct kafka_records *records, const struct batch *batch, const struct kafka_batch_id *batch_id,
                           struct buf *out);

#endif
