/* librdkafka configuration, shared by producer and consumer. Part of sink-kafka.so. */
#ifndef SONDE_TRANSPORT_KAFKA_CONF_H
#define SONDE_TRANSPORT_KAFKA_CONF_H

#include "base/buf.h"

#include <librdkafka/rdkafka.h>

/* All borrowed until the call returns. */
struct kafka_conf_settings {
    const char *brokers; /* "HOST:9092;HOST:9092" */
    const char *options; /* librdkafka properties: "NAME=VALUE;NAME=VALUE"; NULL: none */
    const char *config;  /* a file with one NAME=VALUE per line, '#' starts a comment; NULL: none */
};

/* Creates a configuration: defaults (name, value, ..., NULL), overridden by the file, overridden by the options. USAGE:
 * librdkafka rejects a property; ABSENT, DENIED, IO: the file. error gets the message. */
enum err kafka_conf_new(rd_kafka_conf_t **conf, const struct kafka_conf_settings *settings, const char *const *defaults,
                        char *error, size_t error_size);

#endif
