/* Sequences come in order from one collector; but what one had in its journal when it died it files when it is back, long after
 * another has gone on. So ranges are kept, and not how far it went. */
#include "sinks/store_streams.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define GAP_MARK 0x6761707300000000u /* "gaps" */

void store_streams_clear(struct store_streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        struct store_stream *stream = &streams->list[i];
        free(stream->host);
        ranges_clear(&stream->filed);
        ranges_clear(&stream->after);
        ranges_clear(&stream->taken);
    }
    free(streams->list);
    *streams = (struct store_streams){ 0 };
}

/* A word about samples that are gone has the sequence of the last of them. They are gone for the collector that says so; another
 * may have them. So the word must not be taken for them. */
static uint64_t key_of(const struct batch *batch)
{
    bool is_gap = batch->gap_count && !batch->count && !batch->job_count && !batch->event_count && !batch->piece;
    return is_gap ? batch->stream ^ GAP_MARK : batch->stream;
}

/* Streams are as many as hosts, and come in the same order again and again: the next one is looked at first. */
bool store_streams_find(struct store_streams *streams, const struct batch *batch, size_t *at)
{
    const char *host = batch->host ? batch->host : "";
    uint64_t key = key_of(batch);
    for (size_t i = 1; i <= streams->count; i++) {
        *at = (streams->last + i) % streams->count;
        if (streams->list[*at].stream == key && strcmp(streams->list[*at].host, host) == 0) {
            streams->last = *at;
            return true;
        }
    }
    return false;
}

enum err store_streams_add(struct store_streams *streams, struct store *store, const char *source, const struct batch *batch,
                           size_t *at)
{
    const char *host = batch->host ? batch->host : "";
    struct store_stream new = { .stream = key_of(batch), .checked = streams->round };
    enum err err = array_reserve(streams->list, streams->capacity, streams->count + 1, VEC_MAX);
    if (!err)
        err = grow_filed_read(store, host, new.stream, &new.filed);
    if (!err)
        err = grow_old_stream(store, source, host, batch->stream, &new.old);
    new.host = err ? NULL : strdup(host);
    if (!new.host) {
        ranges_clear(&new.filed);
        return err ? err : NOMEM;
    }
    *at = streams->count++;
    streams->list[*at] = new;
    return OK;
}

bool store_streams_filed(const struct store_streams *streams, size_t at, uint64_t sequence)
{
    return at < streams->count && ranges_has(&streams->list[at].filed, sequence);
}

bool store_streams_has(const struct store_streams *streams, size_t at, uint64_t sequence)
{
    return at < streams->count && (sequence <= streams->list[at].old || ranges_has(&streams->list[at].taken, sequence)
                                   || ranges_has(&streams->list[at].filed, sequence));
}

enum err store_streams_make_room(struct store_streams *streams, size_t at)
{
    return at < streams->count ? ranges_reserve(&streams->list[at].taken) : OK;
}

void store_streams_take(struct store_streams *streams, size_t at, uint64_t sequence)
{
    if (at < streams->count)
        ranges_add(&streams->list[at].taken, (struct range){ sequence, sequence });
}

/* As long as the count is what we left, what is known here is what is there: one collector alone asks for nothing more. */
enum err store_streams_check(struct store_streams *streams, struct grow *grow, bool *has_doubles)
{
    *has_doubles = false;
    enum err err = grow_count(grow, &streams->count_now);
    if (!err && (!streams->count_left || streams->count_now != streams->count_left))
        streams->round++;
    for (size_t i = 0; i < streams->count && !err; i++) {
        struct store_stream *stream = &streams->list[i];
        if (!stream->taken.count || stream->checked == streams->round)
            continue;
        err = grow_filed_read(grow->store, stream->host, stream->stream, &stream->filed);
        if (!err)
            stream->checked = streams->round;
        if (!err && ranges_meet(&stream->taken, &stream->filed))
            *has_doubles = true;
    }
    return err;
}

enum err store_streams_write(struct store_streams *streams, struct grow *grow)
{
    enum err err = OK;
    for (size_t i = 0; i < streams->count && !err; i++) {
        struct store_stream *stream = &streams->list[i];
        if (stream->taken.count)
            err = ranges_copy(&stream->after, &stream->filed);
        for (size_t j = 0; j < stream->taken.count && !err; j++)
            err = grow_filed_write(grow, stream->host, stream->stream, stream->taken.list[j], &stream->after);
    }
    return err;
}

void store_streams_settle(struct store_streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        struct store_stream *stream = &streams->list[i];
        if (!stream->taken.count)
            continue;
        struct ranges spare = stream->filed;
        stream->filed = stream->after;
        stream->after = spare;
        stream->taken.count = 0;
    }
    streams->count_left = streams->count_now + 1;
}
