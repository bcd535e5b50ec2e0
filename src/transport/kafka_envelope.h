/* A record that travels alone, as through Kafka: with the name of its stream, so that whoever gets it can tell whether he has it
 * already, and now and then with the state that it builds on, so that he can begin there, whatever he had before.
 *
 *   MessagePack: {"v": 1, "host", "stream", "sequence", "epoch", "before", "state": bytes, "record": bytes} */
#ifndef SONDE_TRANSPORT_KAFKA_ENVELOPE_H
#define SONDE_TRANSPORT_KAFKA_ENVELOPE_H

#include "base/buf.h"

#define PARCEL_VERSION 1

struct parcel {
    struct bytes host;
    uint64_t stream, sequence;
    uint64_t epoch;  /* of the encoder: random */
    uint64_t before; /* the record that the state comes behind, by the same encoder; 0: none. Whoever decoded that one last, of
                      * this epoch, has the state already */
    struct bytes state, record; /* of journal/stream.h; a state of no bytes: it is with one of those before */
};

void parcel_write(struct buf *out, const struct parcel *parcel);

/* Borrows from bytes. CORRUPT: it is none, or cut short; USAGE: of a version that we do not know. */
enum err parcel_read(struct bytes bytes, struct parcel *parcel);

#endif
