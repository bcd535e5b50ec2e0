/* A map of encoders by host and stream; unused ones are freed after IDLE_NS. */
#include "sinks/kafka/records.h"

#include "base/clock.h"
#include "base/map.h"
#include "transport/kafka_envelope.h"
#include "journal/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ENCODERS_MAX 4000000u
#define IDLE_NS (600 * NS_PER_S)
#define SWEEP_NS (60 * NS_PER_S)

struct encoder {
    char *host;
    uint64_t stream, epoch;
    uint64_t previous; /* sequence of its last record; 0: none */
    uint64_t used_ns, snapshot_ns; /* CLOCK_MONOTONIC, of the last record and the last snapshot */
    struct delta_stream *state;
};

struct kafka_records {
    struct map encoders; /* by host and stream */
    uint64_t swept_ns, snapshot_ns;
    struct buf state, record;
};

enum err kafka_records_new(struct kafka_records **records, uint64_t snapshot_ns)
{
    *records = calloc(1, sizeof **records);
    if (!*records)
        return NOMEM;
    (*records)->swept_ns = clock_monotonic_ns();
    (*records)->snapshot_ns = snapshot_ns;
    buf_init(&(*records)->state, STREAM_RECORD_MAX);
    buf_init(&(*records)->record, STREAM_RECORD_MAX);
    return OK;
}

static void encoder_free(struct encoder *encoder)
{
    stream_free(&encoder->state);
    free(encoder->host);
    free(encoder);
}

static uint64_t hash_of(uint64_t stream, const char *host)
{
    return map_hash_string(map_hash(0, &stream, sizeof stream), host);
}

/* Frees encoders that were last used before this time. */
static void free_idle(struct kafka_records *records, uint64_t before_ns)
{
    struct map_iterator at = { 0 };
    for (struct encoder *encoder; (encoder = map_next(&records->encoders, &at));)
        if (encoder->used_ns < before_ns) {
            map_remove(&records->encoders, hash_of(encoder->stream, encoder->host), encoder);
            encoder_free(encoder);
        }
}

void kafka_records_free(struct kafka_records **records)
{
    if (!*records)
        return;
    free_idle(*records, UINT64_MAX);
    map_clear(&(*records)->encoders);
    buf_clear(&(*records)->state);
    buf_clear(&(*records)->record);
    free(*records);
    *records = NULL;
}

void kafka_records_reset(struct kafka_records *records)
{
    free_idle(records, UINT64_MAX);
}

static bool is_encoder(const void *item, const void *key)
{
    const struct encoder *encoder = item;
    const struct kafka_batch_id *batch_id = key;
    return encoder->stream == batch_id->stream && strcmp(encoder->host, batch_id->host) == 0;
}

static enum err add_encoder(struct map *encoders, uint64_t hash, const struct kafka_batch_id *batch_id,
                            struct encoder **created)
{
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NOMEM;
    encoder->host = strdup(batch_id->host);
    encoder->stream = batch_id->stream;
    bool is_created = encoder->host && getrandom(&encoder->epoch, sizeof encoder->epoch, 0) == (ssize_t)sizeof encoder->epoch
        && !stream_new(&encoder->state) && !map_add(encoders, hash, encoder, ENCODERS_MAX);
    if (!is_created) {
        encoder_free(encoder);
        return NOMEM;
    }
    *created = encoder;
    return OK;
}

static enum err find(struct kafka_records *records, const struct kafka_batch_id *batch_id, struct encoder **found)
{
    uint64_t hash = hash_of(batch_id->stream, batch_id->host);
    *found = map_find(&records->encoders, hash, is_encoder, batch_id);
    return *found ? OK : add_encoder(&records->encoders, hash, batch_id, found);
}

static void sweep(struct kafka_records *records, uint64_t now_ns)
{
    if (now_ns - records->swept_ns < SWEEP_NS)
        return;
    records->swept_ns = now_ns;
    free_idle(records, now_ns > IDLE_NS ? now_ns - IDLE_NS : 0);
}

/* At the start, at intervals, and if the batch does not follow the last one: a batch that failed is encoded again. */
static bool needs_snapshot(const struct kafka_records *records, const struct encoder *encoder,
                           const struct kafka_batch_id *batch_id,
                        uint64_t now_ns)
{
    return !encoder->previous || batch_id->sequence != encoder->previous + 1
        || now_ns - encoder->snapshot_ns >= records->snapshot_ns;
}

enum err kafka_records_add(struct kafka_records *records, const struct batch *batch, const struct kafka_batch_id *batch_id,
                           struct buf *out)
{
    struct encoder *encoder;
    uint64_t now_ns = clock_monotonic_ns();
    sweep(records, now_ns);
    enum err err = find(records, batch_id, &encoder);
    if (err)
        return err;
    buf_reset(&records->state);
    buf_reset(&records->record);
    bool has_snapshot = needs_snapshot(records, encoder, batch_id, now_ns);
    if (has_snapshot)
        stream_snapshot(encoder->state, &records->state);
    err = buf_err(&records->state);
    if (!err)
        err = stream_encode(encoder->state, batch, &records->record);
    if (err)
        return err;
    struct kafka_envelope envelope = {
        .host = bytes_of(batch_id->host), .stream = batch_id->stream, .sequence = batch_id->sequence, .epoch = encoder->epoch,
        .before = encoder->previous, .state = { buf_text(&records->state), records->state.size },
        .record = { buf_text(&records->record), records->record.size },
    };
    kafka_envelope_write(out, &envelope);
    encoder->previous = batch_id->sequence;
    encoder->used_ns = now_ns;
    if (has_snapshot)
        encoder->snapshot_ns = now_ns;
    return buf_err(out);
}
