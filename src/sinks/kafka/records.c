/* A hash table of encoders by host and stream; unused ones are freed after IDLE_NS. */
#include "sinks/kafka/records.h"

#include "base/clock.h"
#include "base/hash.h"
#include "transport/kafka_envelope.h"
#include "journal/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS 4096u
#define IDLE_NS (600 * NS_PER_S)
#define SWEEP_NS (60 * NS_PER_S)

struct encoder {
    struct encoder *next; /* in its bucket */
    char *host;
    uint64_t stream, epoch;
    uint64_t previous; /* sequence of its last record; 0: none */
    uint64_t used_ns, snapshot_ns; /* CLOCK_MONOTONIC, of the last record and the last snapshot */
    struct delta_stream *state;
};

struct kafka_records {
    struct encoder *buckets[BUCKETS];
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

/* Frees encoders that were last used before this time. */
static void free_idle(struct kafka_records *records, uint64_t before_ns)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct encoder **at = &records->buckets[i]; *at;) {
            struct encoder *encoder = *at;
            if (encoder->used_ns < before_ns) {
                *at = encoder->next;
                encoder_free(encoder);
            } else
                at = &encoder->next;
        }
}

void kafka_records_free(struct kafka_records **records)
{
    if (!*records)
        return;
    free_idle(*records, UINT64_MAX);
    buf_clear(&(*records)->state);
    buf_clear(&(*records)->record);
    free(*records);
    *records = NULL;
}

void kafka_records_reset(struct kafka_records *records)
{
    free_idle(records, UINT64_MAX);
}

static struct encoder **bucket_of(struct kafka_records *records, const struct kafka_batch_id *batch_id)
{
    uint64_t hash = hash_add_text(HASH_START ^ batch_id->stream, batch_id->host);
    return &records->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static enum err add_encoder(struct encoder **bucket, const struct kafka_batch_id *batch_id, struct encoder **created)
{
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NOMEM;
    encoder->host = strdup(batch_id->host);
    encoder->stream = batch_id->stream;
    bool is_created = encoder->host && getrandom(&encoder->epoch, sizeof encoder->epoch, 0) == (ssize_t)sizeof encoder->epoch
        && !stream_new(&encoder->state);
    if (!is_created) {
        encoder_free(encoder);
        return NOMEM;
    }
    encoder->next = *bucket;
    *bucket = *created = encoder;
    return OK;
}

static enum err find(struct kafka_records *records, const struct kafka_batch_id *batch_id, struct encoder **found)
{
    struct encoder **bucket = bucket_of(records, batch_id);
    for (struct encoder *encoder = *bucket; encoder; encoder = encoder->next)
        if (encoder->stream == batch_id->stream && strcmp(encoder->host, batch_id->host) == 0) {
            *found = encoder;
            return OK;
        }
    return add_encoder(bucket, batch_id, found);
}

static void sweep(struct kafka_records *records, uint64_t now_ns)
{
    if (now_ns - records->swept_ns < SWEEP_NS)
        return;
    records->swept_ns = now_ns;
    free_idle(records, now_ns > IDLE_NS ? now_ns - IDLE_NS : 0);
}

/* At the start, at intervals, and if the batch does not follow the last one: a batch that failed is encoded again. */
static bool needs_snapshot(const struct kafka_records *records, const struct encoder *encoder, const struct kafka_batch_id *batch_id,
                        uint64_t now_ns)
{
    return !encoder->previous || batch_id->sequence != encoder->previous + 1 || now_ns - encoder->snapshot_ns >= records->snapshot_ns;
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
