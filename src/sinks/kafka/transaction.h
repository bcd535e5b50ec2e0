/* Messages in transactions: what is in the box goes together with its mark, the position in the journal that it ends with, or not
 * at all. Whoever sends again after a crash begins behind the last mark. Part of sink-kafka.so. */
#ifndef SONDE_SINKS_KAFKA_TRANSACTION_H
#define SONDE_SINKS_KAFKA_TRANSACTION_H

#include "sinks/kafka/producer.h"

#define TRANSACTION_MS "15000" /* so long may the brokers hold up readers when we are gone in the middle of one */

/* Wanted, there is a journal, and the brokers can. May become false in any call below. */
bool kafka_transaction_is_used(const struct kafka_producer *producer);

/* Until the last mark is known: done_until. AGAIN: the deadline passed. */
enum err kafka_transaction_learn(struct kafka_producer *producer, uint64_t deadline_ns);

/* Until the box is empty, and all of it committed. AGAIN: the deadline (CLOCK_MONOTONIC) passed. */
enum err kafka_transaction_flush(struct kafka_producer *producer, uint64_t deadline_ns);

#endif
