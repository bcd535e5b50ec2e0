/* A short list of topics, each with an array of its partitions. */
#include "sinks/kafka/places.h"

#include "journal/journal_blob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTITIONS_MAX 100000u

void kafka_places_clear(struct kafka_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->topics[i].offsets);
    free(places->topics);
    *places = (struct kafka_places){ 0 };
}

struct kafka_places_topic *kafka_places_find(struct kafka_places *places, const char *topic)
{
    for (size_t i = 0; i < places->count; i++) {
        size_t at = (places->last + i) % places->count;
        if (strcmp(places->topics[at].name, topic) != 0)
            continue;
        places->last = at;
        return &places->topics[at];
    }
    return NULL;
}

static enum err add_topic(struct kafka_places *places, const char *name, struct kafka_places_topic **topic)
{
    if (places->count >= KAFKA_TOPICS_MAX || strlen(name) >= KAFKA_TOPIC_MAX)
        return FULL;
    if (places->count == places->room) {
        size_t room = places->room ? places->room * 2 : 16;
        struct kafka_places_topic *topics = realloc(places->topics, room * sizeof *topics);
        if (!topics)
            return NOMEM;
        places->topics = topics;
        places->room = room;
    }
    *topic = &places->topics[places->count++];
    **topic = (struct kafka_places_topic){ .count = 0 };
    snprintf((*topic)->name, sizeof (*topic)->name, "%s", name);
    return OK;
}

enum err kafka_places_add(struct kafka_places *places, const char *name, size_t partitions, int64_t offset)
{
    struct kafka_places_topic *topic = kafka_places_find(places, name);
    enum err err = topic ? OK : add_topic(places, name, &topic);
    if (err || partitions <= topic->count)
        return err;
    int64_t *offsets = partitions <= PARTITIONS_MAX ? realloc(topic->offsets, partitions * sizeof *offsets) : NULL;
    if (!offsets)
        return partitions <= PARTITIONS_MAX ? NOMEM : FULL;
    topic->offsets = offsets;
    while (topic->count < partitions)
        offsets[topic->count++] = offset;
    return OK;
}

size_t kafka_places_partitions(const struct kafka_places *places)
{
    size_t count = 0;
    for (size_t i = 0; i < places->count; i++)
        count += places->topics[i].count;
    return count;
}

void kafka_places_write(const struct kafka_places *places, struct buf *note)
{
    journal_blob_u64(note, places->position);
    journal_blob_u64(note, places->until);
    journal_blob_u64(note, places->opening);
    for (size_t i = 0; i < places->count; i++) {
        const struct kafka_places_topic *topic = &places->topics[i];
        journal_blob_text(note, topic->name);
        journal_blob_u64(note, topic->count);
        for (size_t n = 0; n < topic->count; n++)
            journal_blob_u64(note, (uint64_t)topic->offsets[n]);
    }
}

static enum err read_topic(struct kafka_places *places, struct bytes *content)
{
    char name[256];
    uint64_t count, offset;
    if (!journal_blob_take_text(content, name) || !journal_blob_take_u64(content, &count) || kafka_places_find(places, name)
        || count > content->size / sizeof offset)
        return CORRUPT;
    enum err err = kafka_places_add(places, name, count, 0);
    for (size_t n = 0; n < count && !err; n++) {
        err = journal_blob_take_u64(content, &offset) ? OK : CORRUPT;
        if (!err)
            places->topics[places->count - 1].offsets[n] = (int64_t)offset;
    }
    return err;
}

enum err kafka_places_read(struct kafka_places *places, struct bytes content)
{
    kafka_places_clear(places);
    bool is_whole = journal_blob_take_u64(&content, &places->position) && journal_blob_take_u64(&content, &places->until)
        && journal_blob_take_u64(&content, &places->opening);
    enum err err = is_whole ? OK : CORRUPT;
    while (!err && content.size)
        err = read_topic(places, &content);
    if (err)
        kafka_places_clear(places);
    return err;
}
