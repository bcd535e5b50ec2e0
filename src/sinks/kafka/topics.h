/* Topic names, one per metric set: expanded from a pattern once, and cached. */
#ifndef SONDE_SINKS_KAFKA_TOPICS_H
#define SONDE_SINKS_KAFKA_TOPICS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define KAFKA_TOPIC_MAX 250 /* Kafka's limit is 249 characters */
#define KAFKA_TOPICS_MAX 8192u

struct kafka_topic {
    char *set;
    char name[KAFKA_TOPIC_MAX];
};

struct kafka_topics {
    const char *pattern; /* "sonde.%{set}"; borrowed */
    struct kafka_topic **list;
    size_t count, capacity, last; /* last: index of the last match, where the next search starts */
};

void kafka_topics_clear(struct kafka_topics *topics);

/* *name is valid until kafka_topics_clear. Characters that Kafka does not allow become '_'. FULL, NOMEM. */
enum err kafka_topics_find(struct kafka_topics *topics, const char *set, const char **name);

#endif
