/* A table of streams, and what was told of each. */
#include "transport/uplink_streams.h"

#include "model/pack.h"
#include "journal/stream.h"

#include <stdlib.h>

#define SLOTS_MIN 16
#define BODY_MAX (MESSAGE_MAX - 64)

struct told {
    char *host;
    uint64_t id, number;
    bool is_open;    /* the collector knows its number */
    bool has_state;  /* the collector has what the next record builds on */
    struct buf state; /* read, not yet told; size 0: none */
    struct delta_stream *decoder; /* the state, moved on by records that need not be told again; NULL: state is as it was read */
};

struct uplink_streams {
    struct uplink_taker taker;
    struct told **slots; /* by host and id; NULL: free */
    size_t slot_count, count;
    uint64_t next_number;
    struct batch batch; /* of records that are only decoded */
    struct buf body;
};

static void told_free(struct told *told)
{
    free(told->host);
    buf_clear(&told->state);
    stream_free(&told->decoder);
    free(told);
}

void uplink_streams_reset(struct uplink_streams *streams)
{
    for (size_t i = 0; i < streams->slot_count; i++)
        if (streams->slots[i])
            told_free(streams->slots[i]);
    free(streams->slots);
    streams->slots = NULL;
    streams->slot_count = streams->count = 0;
    streams->next_number = 0;
}

enum err uplink_streams_new(struct uplink_streams **streams, const struct uplink_taker *taker)
{
    struct uplink_streams *s = *streams = calloc(1, sizeof *s);
    if (!s)
        return NOMEM;
    s->taker = *taker;
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

/* Ids are random already; hosts that share one are rare. */
static size_t place_of(const struct uplink_streams *streams, const char *host, uint64_t id)
{
    size_t at = (size_t)(id ^ id >> 32) & (streams->slot_count - 1);
    while (streams->slots[at] && (streams->slots[at]->id != id || strcmp(streams->slots[at]->host, host) != 0))
        at = (at + 1) & (streams->slot_count - 1);
    return at;
}

static enum err grow(struct uplink_streams *streams)
{
    size_t old_count = streams->slot_count;
    struct told **old = streams->slots;
    size_t count = old_count ? old_count * 2 : SLOTS_MIN;
    struct told **slots = calloc(count, sizeof(struct told *));
    if (!slots)
        return NOMEM;
    streams->slots = slots;
    streams->slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            slots[place_of(streams, old[i]->host, old[i]->id)] = old[i];
    free(old);
    return OK;
}

static struct told *find(struct uplink_streams *streams, const char *host, uint64_t id)
{
    if (streams->count * 2 >= streams->slot_count && grow(streams))
        return NULL;
    size_t at = place_of(streams, host, id);
    if (streams->slots[at])
        return streams->slots[at];
    struct told *told = calloc(1, sizeof *told);
    if (!told || !(told->host = strdup(host))) {
        free(told);
        return NULL;
    }
    told->id = id;
    buf_init(&told->state, BODY_MAX);
    streams->slots[at] = told;
    streams->count++;
    return told;
}

static void add_number(struct buf *body, uint64_t number)
{
    uint8_t room[PACK_NUMBER_MAX];
    struct packer packer = { room, room + sizeof room, false };
    pack_number(&packer, number);
    buf_add(body, room, (size_t)(packer.at - room));
}

static enum err give(struct uplink_streams *streams, enum message_kind kind)
{
    enum err err = buf_err(&streams->body);
    if (!err)
        streams->taker.take(streams->taker.context, kind, (struct bytes){ streams->body.data, streams->body.size });
    buf_reset(&streams->body);
    return err;
}

static enum err tell_open(struct uplink_streams *streams, struct told *told)
{
    if (told->is_open)
        return OK;
    told->number = streams->next_number++;
    struct message_open open = { .number = told->number, .host = bytes_of(told->host), .stream = told->id };
    buf_reset(&streams->body);
    message_write_open(&streams->body, &open);
    told->is_open = true;
    return give(streams, MESSAGE_OPEN);
}

static enum err tell_state(struct uplink_streams *streams, struct told *told, struct bytes snapshot)
{
    enum err err = tell_open(streams, told);
    add_number(&streams->body, told->number);
    buf_add(&streams->body, snapshot.data, snapshot.size);
    if (!err)
        err = give(streams, MESSAGE_STATE);
    told->has_state = !err;
    stream_free(&told->decoder);
    buf_clear(&told->state);
    return err;
}

static enum err tell_record(struct uplink_streams *streams, const struct told *told, uint64_t sequence, struct bytes record)
{
    add_number(&streams->body, told->number);
    add_number(&streams->body, sequence);
    buf_add(&streams->body, record.data, record.size);
    return give(streams, MESSAGE_RECORD);
}

/* What was read of it and not told: moved on by records, as it was read, or nothing at all. */
static enum err tell_read_state(struct uplink_streams *streams, struct told *told)
{
    struct buf snapshot;
    struct delta_stream *empty = NULL;
    if (told->has_state)
        return OK;
    if (!told->decoder && told->state.size)
        return tell_state(streams, told, (struct bytes){ told->state.data, told->state.size });
    enum err err = told->decoder ? OK : stream_new(&empty);
    buf_init(&snapshot, BODY_MAX);
    if (!err)
        stream_snapshot(told->decoder ? told->decoder : empty, &snapshot);
    if (!err)
        err = buf_err(&snapshot);
    if (!err)
        err = tell_state(streams, told, (struct bytes){ snapshot.data, snapshot.size });
    buf_clear(&snapshot);
    stream_free(&empty);
    return err;
}

/* A record that was sent earlier moves the state on. One that cannot be read leaves none: a later state mends that. */
static enum err follow(struct uplink_streams *streams, struct told *told, struct bytes record)
{
    enum err err = OK;
    if (!told->decoder) {
        err = stream_new(&told->decoder);
        if (!err && told->state.size)
            err = stream_restore(told->decoder, (struct bytes){ told->state.data, told->state.size });
        buf_clear(&told->state);
    }
    if (!err)
        err = stream_decode(told->decoder, record, &streams->batch);
    if (err)
        stream_free(&told->decoder);
    return err == NOMEM ? err : OK;
}

static enum err keep(struct uplink_streams *streams, struct told *told, const struct journal_entry *entry)
{
    if (entry->kind == JOURNAL_RECORD)
        return follow(streams, told, entry->body);
    if (entry->kind != JOURNAL_SNAPSHOT)
        return OK;
    stream_free(&told->decoder);
    buf_reset(&told->state);
    buf_add(&told->state, entry->body.data, entry->body.size);
    return buf_err(&told->state);
}

/* As a record of its own, under the number of the last that is missing. It builds on no state. */
static enum err tell_gap(struct uplink_streams *streams, struct told *told, const struct journal_entry *entry)
{
    struct batch_gap gap = { .from_ns = entry->gap_from_ns, .to_ns = entry->gap_to_ns, .batches = entry->gap_records,
                             .reason = entry->gap_reason ? entry->gap_reason : "lost" };
    struct batch batch = { .gaps = &gap, .gap_count = 1 };
    struct delta_stream *empty = NULL;
    struct buf record;
    buf_init(&record, BODY_MAX);
    enum err err = tell_read_state(streams, told);
    if (!err)
        err = stream_new(&empty);
    if (!err)
        err = stream_encode(empty, &batch, &record);
    if (!err)
        err = tell_record(streams, told, entry->sequence, (struct bytes){ record.data, record.size });
    stream_free(&empty);
    buf_clear(&record);
    return err;
}

enum err uplink_streams_take(struct uplink_streams *streams, const struct journal_entry *entry)
{
    struct told *told = find(streams, entry->host, entry->stream);
    if (!told)
        return NOMEM;
    buf_reset(&streams->body);
    if (!entry->is_new)
        return keep(streams, told, entry);
    switch (entry->kind) {
    case JOURNAL_SNAPSHOT: return tell_state(streams, told, entry->body);
    case JOURNAL_GAP: return tell_gap(streams, told, entry);
    case JOURNAL_RECORD: break;
    }
    enum err err = tell_read_state(streams, told);
    return err ? err : tell_record(streams, told, entry->sequence, entry->body);
}
