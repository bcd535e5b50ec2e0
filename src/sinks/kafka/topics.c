/* Topic names by metric set, from a pattern in which "%{set}" is the name of the set. */
#include "sinks/kafka/topics.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define PLACEHOLDER "%{set}"

void kafka_topics_clear(struct kafka_topics *topics)
{
    for (size_t i = 0; i < topics->count; i++) {
        free(topics->list[i]->set);
        free(topics->list[i]);
    }
    free(topics->list);
    *topics = (struct kafka_topics){ .pattern = topics->pattern };
}

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

static void add(char name[KAFKA_TOPIC_MAX], size_t *size, const char *text, size_t length)
{
    for (size_t i = 0; i < length && *size + 1 < KAFKA_TOPIC_MAX; i++)
        name[(*size)++] = is_allowed(text[i]) ? text[i] : '_';
    name[*size] = '\0';
}

static void expand(char name[KAFKA_TOPIC_MAX], const char *pattern, const char *set)
{
    size_t size = 0;
    const char *place;
    name[0] = '\0';
    while ((place = strstr(pattern, PLACEHOLDER))) {
        add(name, &size, pattern, (size_t)(place - pattern));
        add(name, &size, set, strlen(set));
        pattern = place + strlen(PLACEHOLDER);
    }
    add(name, &size, pattern, strlen(pattern));
}

static enum err add_topic(struct kafka_topics *topics, const char *set, const char **name)
{
    enum err err = array_reserve(topics->list, topics->capacity, topics->count + 1, KAFKA_TOPICS_MAX);
    if (err)
        return err;
    struct kafka_topic *topic = malloc(sizeof *topic);
    char *copy = strdup(set);
    if (!topic || !copy) {
        free(topic);
        free(copy);
        return NOMEM;
    }
    topic->set = copy;
    expand(topic->name, topics->pattern, set);
    topics->last = topics->count;
    topics->list[topics->count++] = topic;
    *name = topic->name;
    return OK;
}

enum err kafka_topics_find(struct kafka_topics *topics, const char *set, const char **name)
{
    for (size_t i = 0; i < topics->count; i++) {
        size_t at = (topics->last + i) % topics->count;
        if (strcmp(topics->list[at]->set, set) == 0) {
            topics->last = at;
            *name = topics->list[at]->name;
            return OK;
        }
    }
    return add_topic(topics, set, name);
}
