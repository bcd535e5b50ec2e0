/* A hash table of streams, and the file it is saved in. */
#include "journal/journal_streams.h"

#include "base/hash.h"
#include "journal/journal_blob.h"

#include <stdlib.h>
#include <string.h>

#define FILE_NAME "streams"

void journal_streams_init(struct journal_streams *streams)
{
    *streams = (struct journal_streams){ 0 };
}

void journal_streams_clear(struct journal_streams *streams)
{
    for (size_t i = 0; i < streams->count; i++)
        free(streams->all[i].host);
    free(streams->all);
    free(streams->slots);
    journal_streams_init(streams);
}

/* Ids are random, but a collector cannot rely on what its peers send. */
static size_t hash_of(const char *host, uint64_t stream)
{
    uint64_t hash = hash_add_text(stream, host) * 0xff51afd7ed558ccdull;
    return (size_t)(hash ^ hash >> 32);
}

/* The slot of a stream, or the empty one where it belongs. There is always an empty one. */
static size_t slot_of(const struct journal_streams *streams, const char *host, uint64_t stream)
{
    size_t mask = streams->slot_count - 1, slot = hash_of(host, stream) & mask;
    for (; streams->slots[slot]; slot = (slot + 1) & mask) {
        const struct journal_stream *one = &streams->all[streams->slots[slot] - 1];
        if (one->stream == stream && strcmp(one->host, host) == 0)
            break;
    }
    return slot;
}

struct journal_stream *journal_streams_find(const struct journal_streams *streams, const char *host, uint64_t stream)
{
    if (streams->count == 0)
        return NULL;
    uint32_t place = streams->slots[slot_of(streams, host, stream)];
    return place ? &streams->all[place - 1] : NULL;
}

/* Capacity for one more stream and twice as many slots. */
static enum err reserve(struct journal_streams *streams)
{
    if (streams->all && streams->count < streams->capacity)
        return OK;
    size_t capacity = streams->capacity ? streams->capacity * 2 : 16;
    if (capacity > JOURNAL_STREAMS_MAX)
        return FULL;
    struct journal_stream *all = reallocarray(streams->all, capacity, sizeof *all);
    if (!all)
        return NOMEM;
    streams->all = all;
    uint32_t *slots = calloc(capacity * 2, sizeof *slots);
    if (!slots)
        return NOMEM;
    free(streams->slots);
    streams->slots = slots;
    streams->slot_count = capacity * 2;
    streams->capacity = capacity;
    for (size_t i = 0; i < streams->count; i++)
        slots[slot_of(streams, streams->all[i].host, streams->all[i].stream)] = (uint32_t)i + 1;
    return OK;
}

enum err journal_streams_get(struct journal_streams *streams, const char *host, uint64_t stream,
                             struct journal_stream **found)
{
    *found = journal_streams_find(streams, host, stream);
    if (*found)
        return OK;
    enum err err = reserve(streams);
    if (err)
        return err;
    char *own = strdup(host);
    if (!own)
        return NOMEM;
    size_t slot = slot_of(streams, host, stream);
    streams->all[streams->count] = (struct journal_stream){ .host = own, .stream = stream };
    *found = &streams->all[streams->count++];
    streams->slots[slot] = (uint32_t)streams->count;
    return OK;
}

enum err journal_streams_save(const struct journal_streams *streams, int directory, uint64_t forget_ns)
{
    struct buf blob;
    journal_blob_start(&blob);
    for (size_t i = 0; i < streams->count; i++) {
        const struct journal_stream *one = &streams->all[i];
        if (one->last == 0 || one->updated_ns < forget_ns)
            continue;
        journal_blob_string(&blob, one->host);
        journal_blob_u64(&blob, one->stream);
        journal_blob_u64(&blob, one->last);
        journal_blob_u64(&blob, one->updated_ns);
    }
    return journal_blob_save(&blob, directory, FILE_NAME);
}

static enum err load_one(struct journal_streams *streams, struct bytes *content)
{
    char host[256];
    uint64_t stream, last, updated_ns;
    if (!journal_blob_take_string(content, host) || !journal_blob_take_u64(content, &stream) ||
        !journal_blob_take_u64(content, &last) || !journal_blob_take_u64(content, &updated_ns))
        return CORRUPT;
    struct journal_stream *one;
    enum err err = journal_streams_get(streams, host, stream, &one);
    if (!err) {
        one->last = last;
        one->updated_ns = updated_ns;
    }
    return err;
}

enum err journal_streams_load(struct journal_streams *streams, int directory)
{
    struct buf blob;
    struct bytes content;
    enum err err = journal_blob_load(&blob, directory, FILE_NAME, &content);
    if (err)
        return err == ABSENT ? OK : err;
    while (!err && content.size)
        err = load_one(streams, &content);
    buf_clear(&blob);
    return err;
}
