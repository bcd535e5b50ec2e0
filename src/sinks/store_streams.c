/* One collector delivers a stream in order. But a collector that died saves the rest of its journal when it returns,
 * long after another one has continued the stream. So ranges of sequence numbers are stored, not just the last one. */
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
        ranges_clear(&stream->saved);
        ranges_clear(&stream->after);
        ranges_clear(&stream->buffered);
    }
    free(streams->list);
    *streams = (struct store_streams){ 0 };
}

/* A gap has the sequence number of the last missing batch. Another collector may have those batches, so the gap must
 * not count as them: gaps are a stream of their own. */
static uint64_t key_of(const struct batch *batch)
{
    bool is_gap = batch->gap_count && !batch->count && !batch->job_count && !batch->event_count && !batch->piece;
    return is_gap ? batch->stream ^ GAP_MARK : batch->stream;
}

/* There is a stream per host, and they arrive in the same order each time: the search starts after the last match. */
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
        err = append_read_saved(store, host, new.stream, &new.saved);
    if (!err)
        err = append_read_old_sequence(store, source, host, batch->stream, &new.old);
    new.host = err ? NULL : strdup(host);
    if (!new.host) {
        ranges_clear(&new.saved);
        return err ? err : NOMEM;
    }
    *at = streams->count++;
    streams->list[*at] = new;
    return OK;
}

bool store_streams_is_saved(const struct store_streams *streams, size_t at, uint64_t sequence)
{
    return at < streams->count && ranges_has(&streams->list[at].saved, sequence);
}

bool store_streams_has(const struct store_streams *streams, size_t at, uint64_t sequence)
{
    return at < streams->count && (sequence <= streams->list[at].old || ranges_has(&streams->list[at].buffered, sequence)
                                   || ranges_has(&streams->list[at].saved, sequence));
}

enum err store_streams_reserve(struct store_streams *streams, size_t at)
{
    return at < streams->count ? ranges_reserve(&streams->list[at].buffered) : OK;
}

void store_streams_add_buffered(struct store_streams *streams, size_t at, uint64_t sequence)
{
    if (at < streams->count)
        ranges_add(&streams->list[at].buffered, (struct range){ sequence, sequence });
}

/* While the database's counter is as our last commit left it, nobody else has saved anything, and no ranges need to
 * be read. */
enum err store_streams_check(struct store_streams *streams, struct append *grow, bool *has_duplicates)
{
    *has_duplicates = false;
    enum err err = append_count(grow, &streams->count_now);
    if (!err && (!streams->count_left || streams->count_now != streams->count_left))
        streams->round++;
    for (size_t i = 0; i < streams->count && !err; i++) {
        struct store_stream *stream = &streams->list[i];
        if (!stream->buffered.count || stream->checked == streams->round)
            continue;
        err = append_read_saved(grow->store, stream->host, stream->stream, &stream->saved);
        if (!err)
            stream->checked = streams->round;
        if (!err && ranges_meet(&stream->buffered, &stream->saved))
            *has_duplicates = true;
    }
    return err;
}

enum err store_streams_write(struct store_streams *streams, struct append *grow)
{
    enum err err = OK;
    for (size_t i = 0; i < streams->count && !err; i++) {
        struct store_stream *stream = &streams->list[i];
        if (stream->buffered.count)
            err = ranges_copy(&stream->after, &stream->saved);
        for (size_t j = 0; j < stream->buffered.count && !err; j++)
            err = append_add_saved(grow, stream->host, stream->stream, stream->buffered.list[j], &stream->after);
    }
    return err;
}

void store_streams_committed(struct store_streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        struct store_stream *stream = &streams->list[i];
        if (!stream->buffered.count)
            continue;
        struct ranges spare = stream->saved;
        stream->saved = stream->after;
        stream->after = spare;
        stream->buffered.count = 0;
    }
    streams->count_left = streams->count_now + 1;
}
