/* A record as one Kafka message: with the id of its stream, so that a consumer can detect duplicates, and now and then with
 * the state that it builds on (a snapshot), so that a consumer can start there whatever it had before.
 *
 *   MessagePack: {"v": 1, "host", "stream", "sequence", "epoch", "before", "state": bytes, "record": bytes} */
#ifndef SONDE_TRANSPORT_KAFKA_ENVELOPE_H
#define SONDE_TRANSPORT_KAFKA_ENVELOPE_H

#include "base/buf.h"

#define KAFKA_ENVELOPE_VERSION 1

struct kafka_envelope {
    struct bytes host;
    uint64_t stream, sequence;
    uint64_t epoch;  /* of the encoder: random */
    uint64_t before; /* the last record before the state, by the same encoder; 0: none. A decoder that decoded that one last,
                      * in this epoch, does not need the state */
    struct bytes state, record; /* see journal/stream.h; an empty state: an earlier envelope has it */
};

void kafka_envelope_write(struct buf *out, const struct kafka_envelope *envelope);

/* Borrows from bytes. CORRUPT: invalid or truncated; USAGE: an unknown version. */
enum err kafka_envelope_read(struct bytes bytes, struct kafka_envelope *envelope);

#endif
