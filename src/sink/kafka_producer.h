/* Carries a box of messages to Kafka: a producer of librdkafka's, made anew when it has failed for good, and the reports of
 * what has arrived. Part of sink-kafka.so. One thread. */
#ifndef SONDE_SINK_KAFKA_PRODUCER_H
#define SONDE_SINK_KAFKA_PRODUCER_H

#include "sink/kafka_box.h"
#include "wire/kafka_conf.h"

enum kafka_idempotence { KAFKA_WHERE_IT_CAN, KAFKA_ALWAYS, KAFKA_NEVER };

struct kafka_producer {
    /* set before kafka_producer_open */
    struct kafka_conf_settings conf;
    const char *compression;
    bool headers;
    enum kafka_idempotence idempotence;

    struct kafka_box *box; /* borrowed */
    rd_kafka_t *kafka;     /* NULL: to be made anew */
    size_t flying;         /* pieces that librdkafka has */
    bool has_failed;       /* some of them came back */
    bool is_plain;         /* the brokers know no idempotence */
    bool is_fatal;         /* this one will send nothing more */
    uint64_t wait_ns, next_try_ns; /* after failures */
    uint64_t delivered, refused;
    char why[320];         /* the last failure */
};

/* USAGE: a property makes no sense. */
enum err kafka_producer_open(struct kafka_producer *producer, struct kafka_box *box);
void kafka_producer_close(struct kafka_producer *producer); /* what is not there yet is given up; the box keeps it */

/* Hands over what waits, and takes reports, without waiting longer than so. */
void kafka_producer_turn(struct kafka_producer *producer, int timeout_ms);

/* Until the box is empty. AGAIN: the deadline (CLOCK_MONOTONIC) passed. */
enum err kafka_producer_flush(struct kafka_producer *producer, uint64_t deadline_ns);

#endif
