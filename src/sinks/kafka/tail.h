/* Reads the ends of topics, from where a sender's places are, and gathers who is there. Part of sink-kafka.so. */
#ifndef SONDE_SINKS_KAFKA_TAIL_H
#define SONDE_SINKS_KAFKA_TAIL_H

#include "sinks/kafka/places.h"
#include "sinks/kafka/seen.h"
#include "transport/kafka_conf.h"

struct kafka_tail_settings {
    const struct kafka_conf_settings *conf;
    struct kafka_places *places; /* partitions that are new since are added to it; where one has no such place, it is moved */
    struct kafka_seen *seen;     /* what is found */
    bool is_records;             /* each message is a whole record */
};

struct kafka_tail;

/* All borrowed until kafka_tail_close. IO: the brokers do not answer as they should; DENIED: they do not let us read; USAGE.
 * why gets a sentence. */
enum err kafka_tail_open(struct kafka_tail **tail, const struct kafka_tail_settings *settings, int timeout_ms, char *why,
                         size_t why_size);
void kafka_tail_close(struct kafka_tail **tail);

/* OK: all is read, and for a moment nothing came behind it, as from a sender that has died and whose last request is under way
 * still. AGAIN: not by the deadline (CLOCK_MONOTONIC), call again. IO, DENIED, NOMEM: it is of no more use. */
enum err kafka_tail_read(struct kafka_tail *tail, uint64_t deadline_ns, char *why, size_t why_size);

uint64_t kafka_tail_count(const struct kafka_tail *tail); /* messages, so far */

#endif
