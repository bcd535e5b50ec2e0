/* An array of streams with a map, and the file it is saved in. */
#include "journal/journal_streams.h"

#include "base/vec.h"
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
    map_clear(&streams->map);
    journal_streams_init(streams);
}

struct stream_key {
    const struct journal_stream *all;
    const char *host;
    uint64_t stream;
};

static uint64_t hash_of(const char *host, uint64_t stream)
{
    return map_hash_string(map_hash(0, &stream, sizeof stream), host);
}

static bool is_stream(const void *item, const void *key)
{
    const struct stream_key *wanted = key;
    const struct journal_stream *stream = &wanted->all[map_index_of_item(item)];
    return stream->stream == wanted->stream && strcmp(stream->host, wanted->host) == 0;
}

struct journal_stream *journal_streams_find(const struct journal_streams *streams, const char *host, uint64_t stream)
{
    struct stream_key key = { streams->all, host, stream };
    const void *item = map_find(&streams->map, hash_of(host, stream), is_stream, &key);
    return item ? &streams->all[map_index_of_item(item)] : NULL;
}

enum err journal_streams_get(struct journal_streams *streams, const char *host, uint64_t stream,
                             struct journal_stream **found)
{
    *found = journal_streams_find(streams, host, stream);
    if (*found)
        return OK;
    enum err err = array_reserve(streams->all, streams->capacity, streams->count + 1, JOURNAL_STREAMS_MAX);
    if (err)
        return err;
    char *own = strdup(host);
    if (!own || map_add(&streams->map, hash_of(host, stream), map_item_of_index(streams->count), JOURNAL_STREAMS_MAX)) {
        free(own);
        return NOMEM;
    }
    streams->all[streams->count] = (struct journal_stream){ .host = own, .stream = stream };
    *found = &streams->all[streams->count++];
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
