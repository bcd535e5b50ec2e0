/* Sends a queue of messages to Kafka through a librdkafka producer, which is recreated after a fatal error, and
 * handles its delivery reports. Part of sink-kafka.so. One thread. */
#ifndef SONDE_SINKS_KAFKA_PRODUCER_H
#define SONDE_SINKS_KAFKA_PRODUCER_H

#include "sinks/kafka/queue.h"
#include "sinks/sink.h"
#include "transport/kafka_conf.h"

enum kafka_mode { KAFKA_IF_SUPPORTED, KAFKA_ALWAYS, KAFKA_NEVER };

/* Progress of a transaction (sinks/kafka/transaction.c), in this order. */
enum kafka_transaction_stage {
    KAFKA_STAGE_NONE,   /* no transactional producer yet */
    KAFKA_STAGE_FENCED, /* earlier producers of our name are fenced off */
    KAFKA_STAGE_READY,  /* the committed position is known */
    KAFKA_STAGE_BEGUN,  /* messages are sent */
    KAFKA_STAGE_MARKED, /* the new position is part of the transaction */
};

#define KAFKA_NAME_MAX 160

struct kafka_producer {
    /* set before kafka_producer_open */
    struct kafka_conf_settings conf;
    const char *compression;
    bool headers;
    enum kafka_mode idempotence, exactly_once;
    const char *marks_topic; /* topic of the committed positions; borrowed */

    /* set after it and before the first message, if there is a journal */
    char name[KAFKA_NAME_MAX];    /* transactional.id, the same after a restart; "": no transactions */
    uint64_t opening, opened_at;  /* as in sinks/sink.h */
    const atomic_ullong *stop_ns; /* likewise; NULL: none */

    struct kafka_queue *queue; /* borrowed */
    rd_kafka_t *kafka;     /* NULL: to be created */
    size_t in_flight;      /* messages that librdkafka holds */
    bool has_failed;       /* a message failed and waits to be sent again */
    bool is_plain;         /* the brokers do not support idempotence */
    bool is_at_least_once; /* the brokers refuse transactions, or idempotent=no rules them out */
    uint64_t done_until;   /* everything up to this journal position was committed before we started */
    enum kafka_transaction_stage stage;
    uint64_t mark;         /* journal position of the last message in the transaction */
    uint64_t first_try_ns;      /* CLOCK_MONOTONIC, of the first attempt; 0: none */
    bool was_ready;
    bool is_disconnected;  /* a connection has failed, and nothing was delivered since then: error has the reason */
    bool is_fatal;         /* librdkafka reported a fatal error: the producer must be recreated */
    uint64_t wait_ns, next_try_ns; /* back-off after failures */
    uint64_t delivered, refused;
    char error[320];         /* last error message */
};

/* USAGE: an invalid librdkafka property. The first only validates. */
enum err kafka_producer_check(struct kafka_producer *producer);
enum err kafka_producer_open(struct kafka_producer *producer, struct kafka_queue *queue);
void kafka_producer_close(struct kafka_producer *producer); /* undelivered messages stay in the queue */

/* Waits until done_until is known; AGAIN: not by the deadline. */
enum err kafka_producer_find_committed(struct kafka_producer *producer, uint64_t deadline_ns);

/* Sends queued messages and handles delivery reports, waiting at most timeout_ms. */
void kafka_producer_poll(struct kafka_producer *producer, int timeout_ms);

/* For sinks/kafka/transaction.c only. */
enum err kafka_producer_create(struct kafka_producer *producer); /* kafka must be NULL */
void kafka_producer_destroy(struct kafka_producer *producer); /* its messages are queued again */
void kafka_producer_back_off(struct kafka_producer *producer); /* sets next_try_ns, doubling the delay each time */
void kafka_producer_send(struct kafka_producer *producer, struct kafka_message *message);

/* Sends until the queue is empty. AGAIN: the deadline (CLOCK_MONOTONIC) has passed. */
enum err kafka_producer_flush(struct kafka_producer *producer, uint64_t deadline_ns);

#endif
