/* Which messages are in a topic already: a set of identities, 16 bytes each. A message of the same key and body is
 * the same; where each is a whole record (transport/kafka_envelope.h), one of the same host, stream and sequence,
 * whose coding may be another. */
#ifndef SONDE_SINKS_KAFKA_SEEN_H
#define SONDE_SINKS_KAFKA_SEEN_H

#include "base/buf.h"

struct kafka_identity {
    uint64_t words[2];
};

struct kafka_identity kafka_identity_of_row(struct bytes key, struct bytes body);
struct kafka_identity kafka_identity_of_record(struct bytes host, uint64_t stream, uint64_t sequence);

/* Of a message as it is in the topic, whoever wrote it. */
struct kafka_identity kafka_identity_of(bool is_record, struct bytes key, struct bytes body);

struct kafka_seen {
    struct kafka_identity *slots; /* open addressing; a power of two of them */
    size_t count, room, max;
};

void kafka_seen_init(struct kafka_seen *seen, size_t max);
void kafka_seen_clear(struct kafka_seen *seen); /* may be used again */

/* FULL: there are as many as may be; NOMEM. */
enum err kafka_seen_add(struct kafka_seen *seen, struct kafka_identity identity);
bool kafka_seen_has(const struct kafka_seen *seen, struct kafka_identity identity);

#endif
