/* The names of topics, one for each set: made from a pattern once, and kept. */
#ifndef SONDE_SINKS_KAFKA_TOPICS_H
#define SONDE_SINKS_KAFKA_TOPICS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define KAFKA_TOPIC_MAX 250 /* Kafka takes 249 */
#define KAFKA_TOPICS_MAX 8192u

struct kafka_topic {
    char *set;
    char name[KAFKA_TOPIC_MAX];
};

struct kafka_topics {
    const char *pattern; /* "sonde.%{set}"; borrowed */
    struct kafka_topic **list;
    size_t count, room, last; /* last: the one found before, which is often the next too */
};

void kafka_topics_clear(struct kafka_topics *topics);

/* *name is valid until kafka_topics_clear. What Kafka allows in no name becomes '_'. FULL, NOMEM. */
enum err kafka_topics_find(struct kafka_topics *topics, const char *set, const char **name);

#endif
