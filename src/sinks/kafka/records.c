/* Encoders by host and stream; one that nobody needs any more goes. */
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
    uint64_t before; /* the record that it made last; 0: none */
    uint64_t used_ns, told_ns; /* CLOCK_MONOTONIC; told: when a record had its state with it */
    struct delta_stream *state;
};

struct kafka_records {
    struct encoder *buckets[BUCKETS];
    uint64_t swept_ns, state_ns;
    struct buf state, record;
};

enum err kafka_records_new(struct kafka_records **records, uint64_t state_ns)
{
    *records = calloc(1, sizeof **records);
    if (!*records)
        return NOMEM;
    (*records)->swept_ns = clock_monotonic_ns();
    (*records)->state_ns = state_ns;
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

/* Those that were last used before this time. */
static void forget(struct kafka_records *records, uint64_t before_ns)
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
    forget(*records, UINT64_MAX);
    buf_clear(&(*records)->state);
    buf_clear(&(*records)->record);
    free(*records);
    *records = NULL;
}

void kafka_records_reset(struct kafka_records *records)
{
    forget(records, UINT64_MAX);
}

static struct encoder **bucket_of(struct kafka_records *records, const struct kafka_batch_id *mark)
{
    uint64_t hash = hash_add_text(HASH_START ^ mark->stream, mark->host);
    return &records->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static enum err add_encoder(struct encoder **bucket, const struct kafka_batch_id *mark, struct encoder **made)
{
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NOMEM;
    encoder->host = strdup(mark->host);
    encoder->stream = mark->stream;
    bool is_made = encoder->host && getrandom(&encoder->epoch, sizeof encoder->epoch, 0) == (ssize_t)sizeof encoder->epoch
        && !stream_new(&encoder->state);
    if (!is_made) {
        encoder_free(encoder);
        return NOMEM;
    }
    encoder->next = *bucket;
    *bucket = *made = encoder;
    return OK;
}

static enum err find(struct kafka_records *records, const struct kafka_batch_id *mark, struct encoder **found)
{
    struct encoder **bucket = bucket_of(records, mark);
    for (struct encoder *encoder = *bucket; encoder; encoder = encoder->next)
        if (encoder->stream == mark->stream && strcmp(encoder->host, mark->host) == 0) {
            *found = encoder;
            return OK;
        }
    return add_encoder(bucket, mark, found);
}

static void sweep(struct kafka_records *records, uint64_t now_ns)
{
    if (now_ns - records->swept_ns < SWEEP_NS)
        return;
    records->swept_ns = now_ns;
    forget(records, now_ns > IDLE_NS ? now_ns - IDLE_NS : 0);
}

/* At its beginning, every so often, and where it does not follow the record before: one that failed is made again. */
static bool wants_state(const struct kafka_records *records, const struct encoder *encoder, const struct kafka_batch_id *mark,
                        uint64_t now_ns)
{
    return !encoder->before || mark->sequence != encoder->before + 1 || now_ns - encoder->told_ns >= records->state_ns;
}

enum err kafka_records_add(struct kafka_records *records, const struct batch *batch, const struct kafka_batch_id *mark,
                           struct buf *out)
{
    struct encoder *encoder;
    uint64_t now_ns = clock_monotonic_ns();
    sweep(records, now_ns);
    enum err err = find(records, mark, &encoder);
    if (err)
        return err;
    buf_reset(&records->state);
    buf_reset(&records->record);
    bool has_state = wants_state(records, encoder, mark, now_ns);
    if (has_state)
        stream_snapshot(encoder->state, &records->state);
    err = buf_err(&records->state);
    if (!err)
        err = stream_encode(encoder->state, batch, &records->record);
    if (err)
        return err;
    struct parcel parcel = {
        .host = bytes_of(mark->host), .stream = mark->stream, .sequence = mark->sequence, .epoch = encoder->epoch,
        .before = encoder->before, .state = { buf_text(&records->state), records->state.size },
        .record = { buf_text(&records->record), records->record.size },
    };
    parcel_write(out, &parcel);
    encoder->before = mark->sequence;
    encoder->used_ns = now_ns;
    if (has_state)
        encoder->told_ns = now_ns;
    return buf_err(out);
}
