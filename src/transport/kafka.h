/* Taking from Kafka, which is a part of sink-kafka.so: librdkafka is loaded when it is used. */
#ifndef SONDE_TRANSPORT_KAFKA_H
#define SONDE_TRANSPORT_KAFKA_H

#include "base/buf.h"

#define KAFKA_MODULE_VERSION 2
#define KAFKA_MODULE_SYMBOL "sonde_kafka"
#define KAFKA_TOPIC_WIRE "sonde.wire" /* where parcels go (transport/kafka_envelope.h) when nobody says otherwise */

struct kafka_consumer; /* one thread */

/* Borrowed until consumer_close, but for the texts, which are borrowed until consumer_open returns. */
struct kafka_source {
    const char *brokers, *topic, *group;
    const char *options, *config; /* properties of librdkafka, and a file of them; NULL: none */
    /* Some of the partitions go to another consumer: what was given so far is made safe now, or will be given to that one
     * again. False: it could not be. Called within consumer_next and consumer_close. */
    bool (*make_safe)(void *context);
    void *context;
};

struct kafka_consumer_figures {
    uint64_t messages, bytes; /* given */
    uint64_t partitions;      /* that are ours now */
    uint64_t commits, rewinds;
    char why[256];            /* what does not go; "": all is well */
};

struct kafka_module {
    uint32_t version; /* KAFKA_MODULE_VERSION when it was built */

    enum err (*consumer_open)(struct kafka_consumer **consumer, const struct kafka_source *source, char *why, size_t why_size);
    int (*consumer_fd)(const struct kafka_consumer *consumer); /* readable: call next until it says AGAIN */

    /* The next message, borrowed until the next call. AGAIN: there is none now. Also to be called once a second. *is_old: it was
     * given before, and comes again since consumer_rewind was called. */
    enum err (*consumer_next)(struct kafka_consumer *consumer, struct bytes *message, bool *is_old);
    void (*consumer_take_back)(struct kafka_consumer *consumer); /* the last one was not taken: it comes again */

    /* The last one cannot be understood without some before it: they come again, and then it. ABSENT: all that there are were
     * looked at already, and it counts as taken; AGAIN: not now, and it was taken back. */
    enum err (*consumer_rewind)(struct kafka_consumer *consumer);

    void (*consumer_mark)(struct kafka_consumer *consumer); /* what was given so far is about to be made safe */
    void (*consumer_safe)(struct kafka_consumer *consumer); /* it is: whoever comes after us begins behind it */
    void (*consumer_figures)(const struct kafka_consumer *consumer, struct kafka_consumer_figures *figures);
    void (*consumer_close)(struct kafka_consumer **consumer);
};

/* ABSENT: it is not installed; CORRUPT: of another version. why gets a sentence. */
enum err kafka_load(const struct kafka_module **module, char *why, size_t why_size);

#endif
