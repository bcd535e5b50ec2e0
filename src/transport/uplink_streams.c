/* The table of streams, and what the collector has of each. */
#include "transport/uplink_streams.h"

#include "base/map.h"
#include "model/pack.h"
#include "journal/stream.h"

#include <stdlib.h>

#define STREAMS_MAX 4000000u
#define BODY_MAX (MESSAGE_MAX - 64)

struct uplink_stream {
    char *host;
    uint64_t id, number;
    bool is_open;                 /* the collector knows its number */
    bool has_state;               /* the collector has the state that the next record builds on */
    struct buf state;             /* snapshot read but not sent; size 0: none */
    struct delta_stream *decoder; /* that state, moved forward by records sent earlier; NULL: still as in the snapshot */
};

struct uplink_streams {
    struct uplink_output output;
    struct map map; /* by host and id */
    uint64_t next_number;
    struct batch batch; /* scratch, for records that are only decoded */
    struct buf body;
};

static void free_stream(struct uplink_stream *stream)
{
    free(stream->host);
    buf_clear(&stream->state);
    stream_free(&stream->decoder);
    free(stream);
}

void uplink_streams_reset(struct uplink_streams *streams)
{
    struct map_iterator at = { 0 };
    for (struct uplink_stream *stream; (stream = map_next(&streams->map, &at));)
        free_stream(stream);
    map_clear(&streams->map);
    streams->next_number = 0;
}

enum err uplink_streams_new(struct uplink_streams **streams, const struct uplink_output *output)
{
    struct uplink_streams *s = *streams = calloc(1, sizeof *s);
    if (!s)
        return NOMEM;
    s->output = *output;
    buf_init(&s->body, BODY_MAX);
    batch_init(&s->batch);
    return OK;
}

void uplink_streams_free(struct uplink_streams **streams)
{
    if (!*streams)
        return;
    uplink_streams_reset(*streams);
    buf_clear(&(*streams)->body);
    batch_clear(&(*streams)->batch);
    free(*streams);
    *streams = NULL;
}

struct uplink_stream_key {
    const char *host;
    uint64_t id;
};

static bool is_stream(const void *item, const void *key)
{
    const struct uplink_stream *stream = item;
    const struct uplink_stream_key *wanted = key;
    return stream->id == wanted->id && strcmp(stream->host, wanted->host) == 0;
}

/* NULL: out of memory. */
static struct uplink_stream *find(struct uplink_streams *streams, const char *host, uint64_t id)
{
    struct uplink_stream_key key = { host, id };
    uint64_t hash = map_hash_string(map_hash(0, &id, sizeof id), host);
    struct uplink_stream *stream = map_find(&streams->map, hash, is_stream, &key);
    if (stream)
        return stream;
    stream = calloc(1, sizeof *stream);
    if (!stream || !(stream->host = strdup(host)) || map_add(&streams->map, hash, stream, STREAMS_MAX)) {
        if (stream)
            free_stream(stream);
        return NULL;
    }
    stream->id = id;
    buf_init(&stream->state, BODY_MAX);
    return stream;
}

static void add_number(struct buf *body, uint64_t number)
{
    uint8_t bytes[PACK_NUMBER_MAX];
    struct packer packer = { bytes, bytes + sizeof bytes, false };
    pack_number(&packer, number);
    buf_add(body, bytes, (size_t)(packer.at - bytes));
}

static enum err send_body(struct uplink_streams *streams, enum message_kind kind)
{
    enum err err = buf_err(&streams->body);
    if (!err)
        streams->output.send(streams->output.context, kind, (struct bytes){ streams->body.data, streams->body.size });
    buf_reset(&streams->body);
    return err;
}

static enum err send_open(struct uplink_streams *streams, struct uplink_stream *stream)
{
    if (stream->is_open)
        return OK;
    stream->number = streams->next_number++;
    struct message_open open = { .number = stream->number, .host = bytes_of(stream->host), .stream = stream->id };
    buf_reset(&streams->body);
    message_write_open(&streams->body, &open);
    stream->is_open = true;
    return send_body(streams, MESSAGE_OPEN);
}

static enum err send_state(struct uplink_streams *streams, struct uplink_stream *stream, struct bytes snapshot)
{
    enum err err = send_open(streams, stream);
    add_number(&streams->body, stream->number);
    buf_add(&streams->body, snapshot.data, snapshot.size);
    if (!err)
        err = send_body(streams, MESSAGE_STATE);
    stream->has_state = !err;
    stream_free(&stream->decoder);
    buf_clear(&stream->state);
    return err;
}

static enum err send_record(struct uplink_streams *streams, const struct uplink_stream *stream, uint64_t sequence,
                            struct bytes record)
{
    add_number(&streams->body, stream->number);
    add_number(&streams->body, sequence);
    buf_add(&streams->body, record.data, record.size);
    return send_body(streams, MESSAGE_RECORD);
}

/* Sends the state if the collector does not have it: moved forward by records, as read, or empty. */
static enum err ensure_state(struct uplink_streams *streams, struct uplink_stream *stream)
{
    struct buf snapshot;
    struct delta_stream *empty = NULL;
    if (stream->has_state)
        return OK;
    if (!stream->decoder && stream->state.size)
        return send_state(streams, stream, (struct bytes){ stream->state.data, stream->state.size });
    enum err err = stream->decoder ? OK : stream_new(&empty);
    buf_init(&snapshot, BODY_MAX);
    if (!err)
        stream_snapshot(stream->decoder ? stream->decoder : empty, &snapshot);
    if (!err)
        err = buf_err(&snapshot);
    if (!err)
        err = send_state(streams, stream, (struct bytes){ snapshot.data, snapshot.size });
    buf_clear(&snapshot);
    stream_free(&empty);
    return err;
}

/* A record sent earlier moves the state forward. If it cannot be decoded there is no state until the next snapshot. */
static enum err apply_record(struct uplink_streams *streams, struct uplink_stream *stream, struct bytes record)
{
    enum err err = OK;
    if (!stream->decoder) {
        err = stream_new(&stream->decoder);
        if (!err && stream->state.size)
            err = stream_restore(stream->decoder, (struct bytes){ stream->state.data, stream->state.size });
        buf_clear(&stream->state);
    }
    if (!err)
        err = stream_decode(stream->decoder, record, &streams->batch);
    if (err)
        stream_free(&stream->decoder);
    return err == NOMEM ? err : OK;
}

static enum err remember(struct uplink_streams *streams, struct uplink_stream *stream, const struct journal_entry *entry)
{
    if (entry->kind == JOURNAL_RECORD)
        return apply_record(streams, stream, entry->body);
    if (entry->kind != JOURNAL_SNAPSHOT)
        return OK;
    stream_free(&stream->decoder);
    buf_reset(&stream->state);
    buf_add(&stream->state, entry->body.data, entry->body.size);
    return buf_err(&stream->state);
}

/* Sent as a record of its own with the sequence of the last missing one; it needs no state. */
static enum err send_gap(struct uplink_streams *streams, struct uplink_stream *stream, const struct journal_entry *entry)
{
    struct batch_gap gap = { .from_ns = entry->gap_from_ns, .to_ns = entry->gap_to_ns, .batches = entry->gap_records,
                             .reason = entry->gap_reason ? entry->gap_reason : "lost" };
    struct batch batch = { .gaps = &gap, .gap_count = 1 };
    struct delta_stream *empty = NULL;
    struct buf record;
    buf_init(&record, BODY_MAX);
    enum err err = ensure_state(streams, stream);
    if (!err)
        err = stream_new(&empty);
    if (!err)
        err = stream_encode(empty, &batch, &record);
    if (!err)
        err = send_record(streams, stream, entry->sequence, (struct bytes){ record.data, record.size });
    stream_free(&empty);
    buf_clear(&record);
    return err;
}

enum err uplink_streams_add(struct uplink_streams *streams, const struct journal_entry *entry)
{
    struct uplink_stream *stream = find(streams, entry->host, entry->stream);
    if (!stream)
        return NOMEM;
    buf_reset(&streams->body);
    if (!entry->is_new)
        return remember(streams, stream, entry);
    switch (entry->kind) {
    case JOURNAL_SNAPSHOT: return send_state(streams, stream, entry->body);
    case JOURNAL_GAP: return send_gap(streams, stream, entry);
    case JOURNAL_RECORD: break;
    }
    enum err err = ensure_state(streams, stream);
    return err ? err : send_record(streams, stream, entry->sequence, entry->body);
}
