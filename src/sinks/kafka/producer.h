/* Carries a box of messages to Kafka: a producer of librdkafka's, made anew when it has failed for good, and the reports of
 * what has arrived. Part of sink-kafka.so. One thread. */
#ifndef SONDE_SINKS_KAFKA_PRODUCER_H
#define SONDE_SINKS_KAFKA_PRODUCER_H

#include "sinks/kafka/queue.h"
#include "transport/kafka_conf.h"

enum kafka_wish { KAFKA_WHERE_IT_CAN, KAFKA_ALWAYS, KAFKA_NEVER };

/* How far the transaction is (sinks/kafka/transaction.h). */
enum kafka_stage { KAFKA_COLD, KAFKA_ALONE, KAFKA_READY, KAFKA_BEGUN, KAFKA_MARKED };

#define KAFKA_NAME_MAX 160

struct kafka_producer {
    /* set before kafka_producer_open */
    struct kafka_conf_settings conf;
    const char *compression;
    bool headers;
    enum kafka_wish idempotence, exactly_once;
    const char *marks_topic; /* of the transactions' marks; borrowed */

    /* set after it and before the first message, where there is a journal */
    char name[KAFKA_NAME_MAX];    /* of the sender, for ever; "": there are no transactions */
    uint64_t opening, opened_at;  /* as in sinks/sink.h */

    struct kafka_box *box; /* borrowed */
    rd_kafka_t *kafka;     /* NULL: to be made anew */
    size_t flying;         /* pieces that librdkafka has */
    bool has_failed;       /* some of them came back */
    bool is_plain;         /* the brokers know no idempotence */
    bool is_at_least_once; /* the brokers refuse transactions, or idempotent=no rules them out */
    uint64_t done_until;   /* the position up to which all is there, by what was found at the start */
    enum kafka_stage stage;
    uint64_t mark;         /* the position that the transaction ends with */
    uint64_t cold_ns;      /* CLOCK_MONOTONIC, when it was first tried; 0: not yet */
    bool was_ready;
    bool is_fatal;         /* this one will send nothing more */
    uint64_t wait_ns, next_try_ns; /* after failures */
    uint64_t delivered, refused;
    char why[320];         /* the last failure */
};

/* USAGE: a property makes no sense. The first only looks. */
enum err kafka_producer_check(struct kafka_producer *producer);
enum err kafka_producer_open(struct kafka_producer *producer, struct kafka_box *box);
void kafka_producer_close(struct kafka_producer *producer); /* what is not there yet is given up; the box keeps it */

/* Until done_until is known; AGAIN: not by the deadline. */
enum err kafka_producer_learn(struct kafka_producer *producer, uint64_t deadline_ns);

/* Hands over what waits, and takes reports, without waiting longer than so. */
void kafka_producer_turn(struct kafka_producer *producer, int timeout_ms);

/* For sinks/kafka/transaction.c alone. */
enum err kafka_producer_make(struct kafka_producer *producer); /* where there is none */
void kafka_producer_end(struct kafka_producer *producer); /* all that it has waits again */
void kafka_producer_pause(struct kafka_producer *producer); /* sets next_try_ns, each time farther away */
void kafka_producer_send(struct kafka_producer *producer, struct kafka_piece *piece);

/* Until the box is empty. AGAIN: the deadline (CLOCK_MONOTONIC) passed. */
enum err kafka_producer_flush(struct kafka_producer *producer, uint64_t deadline_ns);

#endif
