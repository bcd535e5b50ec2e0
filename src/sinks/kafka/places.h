/* How far each partition of each topic was, when all that a sender had sent had arrived: what it has sent since, whether it
 * knows of it or not, lies behind that. With the positions in the journal that belong to it, in a note beside the
 * journal's cursor. */
#ifndef SONDE_SINKS_KAFKA_PLACES_H
#define SONDE_SINKS_KAFKA_PLACES_H

#include "base/buf.h"
#include "sinks/kafka/topics.h"

#define KAFKA_PLACE_UNKNOWN INT64_MIN

struct kafka_places_topic {
    char name[KAFKA_TOPIC_MAX];
    int64_t *offsets; /* of its partitions: nothing that we are not sure of lies before; KAFKA_PLACE_UNKNOWN: to be asked for */
    size_t count;
};

struct kafka_places {
    struct kafka_places_topic *topics;
    size_t count, room, last; /* last: the one found before */
    uint64_t position; /* in the journal: all up to it has arrived; 0: none */
    uint64_t until;    /* nothing beyond it was sent */
    uint64_t opening;  /* of the journal, when that was so */
};

void kafka_places_clear(struct kafka_places *places);

/* NULL: not among them. Valid until the next kafka_places_add. */
struct kafka_places_topic *kafka_places_find(struct kafka_places *places, const char *topic);

/* Adds a topic, or partitions to it; those begin at offset. FULL, NOMEM. */
enum err kafka_places_add(struct kafka_places *places, const char *topic, size_t partitions, int64_t offset);

size_t kafka_places_partitions(const struct kafka_places *places); /* of all topics */

/* As bytes behind what note has (journal/journal_blob.h), and back. CORRUPT: they are none, and places is empty. */
void kafka_places_write(const struct kafka_places *places, struct buf *note);
enum err kafka_places_read(struct kafka_places *places, struct bytes content);

#endif
