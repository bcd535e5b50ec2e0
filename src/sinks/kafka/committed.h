/* The mark of a sender's transactions: the position in its journal up to which all is committed. It is kept as the offset of a
 * consumer group that has the sender's name and no members. Part of sink-kafka.so. */
#ifndef SONDE_SINKS_KAFKA_COMMITTED_H
#define SONDE_SINKS_KAFKA_COMMITTED_H

#include "sinks/kafka/producer.h"

struct kafka_committed {
    uint64_t position; /* 0: none yet */
    uint64_t opening;  /* of the journal, when it was written */
};

/* What was committed last. The topic of the marks is made where it is not there yet and the brokers make topics. why of the
 * producer says what is wrong. */
rd_kafka_resp_err_t kafka_committed_read(struct kafka_producer *producer, struct kafka_committed *last, int timeout_ms);

/* The mark of the producer becomes part of its transaction. NULL: it has. */
rd_kafka_error_t *kafka_committed_write(const struct kafka_producer *producer, int timeout_ms);

#endif
