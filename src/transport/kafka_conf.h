/* Settings of librdkafka, as a producer and a consumer are given them. Part of sink-kafka.so. */
#ifndef SONDE_TRANSPORT_KAFKA_CONF_H
#define SONDE_TRANSPORT_KAFKA_CONF_H

#include "base/buf.h"

#include <librdkafka/rdkafka.h>

/* All borrowed until the call returns. */
struct kafka_conf_settings {
    const char *brokers; /* "HOST:9092;HOST:9092" */
    const char *options; /* properties of librdkafka: "NAME=VALUE;NAME=VALUE"; NULL: none */
    const char *config;  /* a file with one NAME=VALUE a line, '#' before comments; NULL: none */
};

/* A new configuration; the file goes before the options, and both before defaults, which has a name and a value after
 * another and NULL at the end. USAGE: librdkafka does not know it; ABSENT, DENIED, IO: the file. why gets a sentence. */
enum err kafka_conf_new(rd_kafka_conf_t **conf, const struct kafka_conf_settings *settings, const char *const *defaults,
                        char *why, size_t why_size);

#endif
