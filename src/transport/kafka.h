/* Consuming from Kafka. The consumer is part of sink-kafka.so, so that librdkafka is loaded only when it is used. */
#ifndef SONDE_TRANSPORT_KAFKA_H
#define SONDE_TRANSPORT_KAFKA_H

#include "base/buf.h"

#define KAFKA_MODULE_VERSION 2
#define KAFKA_MODULE_SYMBOL "sonde_kafka"
#define KAFKA_TOPIC_WIRE "sonde.wire" /* default topic of envelopes (transport/kafka_envelope.h) */

struct kafka_consumer; /* for one thread */

/* Borrowed until consumer_close, except the strings, which are borrowed until consumer_open returns. */
struct kafka_source {
    const char *brokers, *topic, *group;
    const char *options, *config; /* librdkafka properties, and a file of them; NULL: none */
    /* Called within consumer_next and consumer_close when partitions move to another consumer: make everything received
     * so far durable. false: that failed, and the new consumer will receive it again. */
    bool (*flush)(void *context);
    void *context;
};

struct kafka_consumer_figures {
    uint64_t messages, bytes; /* received */
    uint64_t partitions;      /* assigned to us now */
    uint64_t commits, rewinds;
    char error[256];            /* current problem; "": none */
};

struct kafka_module {
    uint32_t version; /* KAFKA_MODULE_VERSION at build time */

    enum err (*consumer_open)(struct kafka_consumer **consumer, const struct kafka_source *source, char *error,
                              size_t error_size);
    int (*consumer_fd)(const struct kafka_consumer *consumer); /* readable: call next until it returns AGAIN */

    /* The next message, borrowed until the next call. AGAIN: none at the moment. Call it at least once a second.
     * *is_old: it was received before and is repeated because of consumer_rewind. */
    enum err (*consumer_next)(struct kafka_consumer *consumer, struct bytes *message, bool *is_old);
    void (*consumer_unread)(struct kafka_consumer *consumer); /* the last message was not processed: return it again */

    /* The last message cannot be decoded without earlier ones: repeats those, then the message itself. ABSENT: all
     * available messages were tried already, and it counts as processed; AGAIN: not possible now, the message was
     * unread. */
    enum err (*consumer_rewind)(struct kafka_consumer *consumer);

    void (*consumer_mark)(struct kafka_consumer *consumer); /* remembers the offsets, before the data is made durable */
    void (*consumer_commit)(struct kafka_consumer *consumer); /* it is durable now: commits the marked offsets */
    void (*consumer_figures)(const struct kafka_consumer *consumer, struct kafka_consumer_figures *figures);
    void (*consumer_close)(struct kafka_consumer **consumer);
};

/* ABSENT: not installed; CORRUPT: built for another version. error gets the message. */
enum err kafka_load(const struct kafka_module **module, char *error, size_t error_size);

#endif
