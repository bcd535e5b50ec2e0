/* Messages for Kafka, in order of arrival, until the brokers have acknowledged them. A message that failed is queued
 * again in its place. */
#ifndef SONDE_SINKS_KAFKA_QUEUE_H
#define SONDE_SINKS_KAFKA_QUEUE_H

#include "base/buf.h"

/* KAFKA_UNCOMMITTED: acknowledged, in an open transaction. */
enum kafka_message_state { KAFKA_QUEUED, KAFKA_IN_FLIGHT, KAFKA_UNCOMMITTED, KAFKA_DELIVERED };

/* Identifies a message in its headers, so that consumers can drop duplicates. */
struct kafka_message_id {
    struct bytes host, key;
    uint64_t stream, sequence, place;
    uint64_t position; /* journal position of its batch; 0: none */
};

struct kafka_message {
    struct kafka_message *next;
    enum kafka_message_state state;
    const char *topic;     /* borrowed from the sink's topic table */
    struct kafka_message_id name; /* its bytes follow the struct */
    struct bytes body;
};

/* A linked list from head to tail. A batch is added as a whole: its messages collect in new_head until it is
 * committed. */
struct kafka_queue {
    struct kafka_message *head, *tail;   /* committed messages */
    struct kafka_message *next;          /* no message before it is in state KAFKA_QUEUED; NULL: none is */
    struct kafka_message *new_head, *new_tail; /* of the batch being added */
    size_t count, bytes, bytes_max;
    size_t new_count, new_bytes;
    size_t waiting; /* messages in state KAFKA_QUEUED */
};

void kafka_queue_init(struct kafka_queue *queue, size_t bytes_max);
void kafka_queue_clear(struct kafka_queue *queue);

/* Adds a copy of a message to the current batch. On FULL (over bytes_max) or NOMEM, call kafka_queue_drop_batch. */
enum err kafka_queue_add(struct kafka_queue *queue, const char *topic, const struct kafka_message_id *name, struct bytes body);
void kafka_queue_commit_batch(struct kafka_queue *queue);      /* the batch is complete */
void kafka_queue_drop_batch(struct kafka_queue *queue); /* drops what was added since the last kafka_queue_commit_batch */

void kafka_queue_set_state(struct kafka_queue *queue, struct kafka_message *message, enum kafka_message_state state);
void kafka_queue_rewind(struct kafka_queue *queue);      /* call after messages were set to KAFKA_QUEUED again */
void kafka_queue_remove_delivered(struct kafka_queue *queue); /* delivered messages at the head */

#endif
