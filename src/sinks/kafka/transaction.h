/* Exactly-once delivery: a transaction holds messages and the journal position of the last one, so that after a
 * crash sending resumes after the committed position. Part of sink-kafka.so. */
#ifndef SONDE_SINKS_KAFKA_TRANSACTION_H
#define SONDE_SINKS_KAFKA_TRANSACTION_H

#include "sinks/kafka/producer.h"

#define TRANSACTION_MS "15000" /* how long the brokers hold up readers if we die in a transaction */

/* Transactions are enabled, possible with the brokers, and there is a journal. Can become false in any call below. */
bool kafka_transaction_is_used(const struct kafka_producer *producer);

/* Waits until the committed position, done_until, is known. AGAIN: the deadline has passed. */
enum err kafka_transaction_find_committed(struct kafka_producer *producer, uint64_t deadline_ns);

/* Sends and commits until the queue is empty. AGAIN: the deadline (CLOCK_MONOTONIC) has passed. */
enum err kafka_transaction_flush(struct kafka_producer *producer, uint64_t deadline_ns);

#endif
