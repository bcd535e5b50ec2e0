/* Batches back to records, for whoever decodes them elsewhere: an encoder for each stream, and parcels of what it makes. */
#ifndef SONDE_SINKS_KAFKA_RECORDS_H
#define SONDE_SINKS_KAFKA_RECORDS_H

#include "base/buf.h"
#include "model/batch.h"
#include "sinks/kafka/rows.h"

struct kafka_records; /* one thread */

/* state_ns: a record that comes so long after the last one with its state has it too. */
enum err kafka_records_new(struct kafka_records **records, uint64_t state_ns);
void kafka_records_free(struct kafka_records **records);

/* The next record of each stream has its state with it, since one before it does not arrive. */
void kafka_records_begin_anew(struct kafka_records *records);

/* Adds the parcel of a batch to out. Of a batch that comes again the parcel is another one, with the same content. FULL: over
 * a limit of journal/stream.h. */
enum err kafka_records_add(struct kafka_records *records, const struct batch *batch, const struct kafka_mark *mark,
                           struct buf *out);

#endif
