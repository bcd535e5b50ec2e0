/* Nothing twice with brokers that know no transactions. Messages go in rounds, each of which has arrived before the next one
 * goes. When it is not known whether one has, after a failure or a crash, the ends of its topics are read, and only what is
 * not there is sent again. Part of sink-kafka.so. */
#ifndef SONDE_SINKS_KAFKA_LOOKBACK_H
#define SONDE_SINKS_KAFKA_LOOKBACK_H

#include "sinks/kafka/producer.h"

void kafka_lookback_init(struct kafka_producer *producer);
void kafka_lookback_close(struct kafka_producer *producer); /* before the producer ends */

/* The name of the producer, its journal, and the reader in it are known now: reads the note that lies there. */
void kafka_lookback_begin(struct kafka_producer *producer);

/* Wanted, there is a journal, and the brokers have no transactions. May become false in any call below. */
bool kafka_lookback_is_used(const struct kafka_producer *producer);

/* Until it was looked for what was under way when the last one died. AGAIN: the deadline (CLOCK_MONOTONIC) passed. */
enum err kafka_lookback_learn(struct kafka_producer *producer, uint64_t deadline_ns);

/* Is this record, of a batch at position, among what was found? */
bool kafka_lookback_has(const struct kafka_producer *producer, struct bytes host, uint64_t stream, uint64_t sequence,
                        uint64_t position);

/* Until the box is empty, and all of it has arrived. AGAIN: the deadline passed. */
enum err kafka_lookback_flush(struct kafka_producer *producer, uint64_t deadline_ns);

#endif
