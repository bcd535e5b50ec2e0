/* A hash table of streams, and its file. */
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

/* Ids are random, but a collector of many hosts cannot rely on that. */
static size_t hash_of(const char *host, uint64_t stream)
{
    uint64_t hash = hash_add_text(stream, host) * 0xff51afd7ed558ccdull;
    return (size_t)(hash ^ hash >> 32);
}

/* The slot of a stream, or the empty one where it would be. There is always an empty one. */
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

/* A place for one more, and the slots for twice as many. */
static enum err make_room(struct journal_streams *streams)
{
    if (streams->all && streams->count < streams->room)
        return OK;
    size_t room = streams->room ? streams->room * 2 : 16;
    if (room > JOURNAL_STREAMS_MAX)
        return FULL;
    struct journal_stream *all = reallocarray(streams->all, room, sizeof *all);
    if (!all)
        return NOMEM;
    streams->all = all;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (!slots)
        return NOMEM;
    free(streams->slots);
    streams->slots = slots;
    streams->slot_count = room * 2;
    streams->room = room;
    for (size_t i = 0; i < streams->count; i++)
        slots[slot_of(streams, streams->all[i].host, streams->all[i].stream)] = (uint32_t)i + 1;
    return OK;
}

enum err journal_streams_add(struct journal_streams *streams, const char *host, uint64_t stream,
                             struct journal_stream **found)
{
    *found = journal_streams_find(streams, host, stream);
    if (*found)
        return OK;
    enum err err = make_room(streams);
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

enum err journal_streams_save(const struct journal_streams *streams, int folder, uint64_t forget_ns)
{
    struct buf blob;
    journal_blob_begin(&blob);
    for (size_t i = 0; i < streams->count; i++) {
        const struct journal_stream *one = &streams->all[i];
        if (one->last == 0 || one->seen_ns < forget_ns)
            continue;
        journal_blob_text(&blob, one->host);
        journal_blob_u64(&blob, one->stream);
        journal_blob_u64(&blob, one->last);
        journal_blob_u64(&blob, one->seen_ns);
    }
    return journal_blob_save(&blob, folder, FILE_NAME);
}

static enum err load_one(struct journal_streams *streams, struct bytes *content)
{
    char host[256];
    uint64_t stream, last, seen_ns;
    if (!journal_blob_take_text(content, host) || !journal_blob_take_u64(content, &stream) ||
        !journal_blob_take_u64(content, &last) || !journal_blob_take_u64(content, &seen_ns))
        return CORRUPT;
    struct journal_stream *one;
    enum err err = journal_streams_add(streams, host, stream, &one);
    if (!err) {
        one->last = last;
        one->seen_ns = seen_ns;
    }
    return err;
}

enum err journal_streams_load(struct journal_streams *streams, int folder)
{
    struct buf blob;
    struct bytes content;
    enum err err = journal_blob_load(&blob, folder, FILE_NAME, &content);
    if (err)
        return err == ABSENT ? OK : err;
    while (!err && content.size)
        err = load_one(streams, &content);
    buf_clear(&blob);
    return err;
}
