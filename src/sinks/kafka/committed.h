/* The journal position up to which everything is committed. It is stored in Kafka as the offset of a consumer group
 * without members, named like the producer, because offsets can be part of a transaction. Part of sink-kafka.so. */
#ifndef SONDE_SINKS_KAFKA_COMMITTED_H
#define SONDE_SINKS_KAFKA_COMMITTED_H

#include "sinks/kafka/producer.h"

struct kafka_committed {
    uint64_t position; /* 0: none */
    uint64_t opening;  /* the journal's opening number when it was written */
};

/* Reads the committed position. Creates the marks topic if it does not exist and the brokers allow that. On an error
 * the producer's error message is set. */
rd_kafka_resp_err_t kafka_committed_read(struct kafka_producer *producer, struct kafka_committed *last, int timeout_ms);

/* Adds the position p->mark to the current transaction. NULL: success. */
rd_kafka_error_t *kafka_committed_write(const struct kafka_producer *producer, int timeout_ms);

#endif
