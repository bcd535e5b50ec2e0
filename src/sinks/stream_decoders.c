/* A map of decoders, by stream id and host. */
#include "sinks/stream_decoders.h"

#include "base/map.h"
#include "journal/stream.h"

#include <stdlib.h>
#include <string.h>

#define DECODERS_MAX 4000000u

struct stream_decoder {
    char *host;
    uint64_t stream;
    uint64_t segment; /* the journal segment of its last entry */
    struct delta_stream *state;
    bool is_in_sync; /* the next record can be decoded: none is missing since the last snapshot */
};

struct stream_decoders {
    struct map map;
    uint64_t segment; /* the journal segment that is being read */
    struct batch batch;
    struct batch_gap gap;
};

enum err stream_decoders_new(struct stream_decoders **decoders)
{
    struct stream_decoders *new = *decoders = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    batch_init(&new->batch);
    return OK;
}

static uint64_t hash_of(uint64_t stream, const char *host)
{
    return map_hash_string(map_hash(0, &stream, sizeof stream), host);
}

static void decoder_free(struct stream_decoder *decoder)
{
    stream_free(&decoder->state);
    free(decoder->host);
    free(decoder);
}

void stream_decoders_reset(struct stream_decoders *decoders)
{
    struct map_iterator at = { 0 };
    for (struct stream_decoder *decoder; (decoder = map_next(&decoders->map, &at));)
        decoder_free(decoder);
    map_reset(&decoders->map);
}

void stream_decoders_free(struct stream_decoders **decoders)
{
    if (!*decoders)
        return;
    stream_decoders_reset(*decoders);
    batch_clear(&(*decoders)->batch);
    map_clear(&(*decoders)->map);
    free(*decoders);
    *decoders = NULL;
}

void stream_decoders_enter_segment(struct stream_decoders *decoders, uint64_t segment)
{
    if (segment == decoders->segment)
        return;
    struct map_iterator at = { 0 };
    for (struct stream_decoder *decoder; (decoder = map_next(&decoders->map, &at));)
        if (decoder->segment != decoders->segment) {
            map_remove(&decoders->map, hash_of(decoder->stream, decoder->host), decoder);
            decoder_free(decoder);
        }
    decoders->segment = segment;
}

static bool is_decoder(const void *item, const void *key)
{
    const struct stream_decoder *decoder = item;
    const struct journal_entry *entry = key;
    return decoder->stream == entry->stream && strcmp(decoder->host, entry->host) == 0;
}

static struct stream_decoder *decoder_new(const struct journal_entry *entry)
{
    struct stream_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder)
        return NULL;
    decoder->host = strdup(entry->host);
    decoder->stream = entry->stream;
    if (!decoder->host || stream_new(&decoder->state)) {
        decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

/* The decoder of the entry's stream, created if it is new. NULL: out of memory. */
static struct stream_decoder *find(struct stream_decoders *decoders, const struct journal_entry *entry)
{
    uint64_t hash = hash_of(entry->stream, entry->host);
    struct stream_decoder *decoder = map_find(&decoders->map, hash, is_decoder, entry);
    if (decoder)
        return decoder;
    decoder = decoder_new(entry);
    if (decoder && map_add(&decoders->map, hash, decoder, DECODERS_MAX)) {
        decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

static void set_ids(struct batch *batch, const struct stream_decoder *decoder, const struct journal_entry *entry)
{
    batch->host = decoder->host;
    batch->stream = entry->stream;
    batch->sequence = entry->sequence;
    batch->position = entry->position;
}

/* What this reader missed becomes a batch that holds only a gap. */
static const struct batch *gap_of(struct stream_decoders *decoders, struct stream_decoder *decoder,
                                  const struct journal_entry *entry)
{
    decoders->gap = (struct batch_gap){
        entry->gap_from_ns, entry->gap_to_ns, entry->gap_records, entry->gap_reason ? entry->gap_reason : "lost",
    };
    batch_reset(&decoders->batch);
    decoders->batch.gaps = &decoders->gap;
    decoders->batch.gap_count = 1;
    set_ids(&decoders->batch, decoder, entry);
    return &decoders->batch;
}

static enum err decode_record(struct stream_decoders *decoders, struct stream_decoder *decoder, const struct journal_entry *entry)
{
    if (!decoder->is_in_sync && entry->sequence != 1)
        return CORRUPT;
    enum err err = stream_decode(decoder->state, entry->body, &decoders->batch);
    decoder->is_in_sync = !err;
    set_ids(&decoders->batch, decoder, entry);
    return err == NOMEM ? NOMEM : err ? CORRUPT : OK;
}

enum err stream_decoders_decode(struct stream_decoders *decoders, const struct journal_entry *entry, const struct batch **batch)
{
    struct stream_decoder *decoder = find(decoders, entry);
    *batch = NULL;
    if (!decoder)
        return NOMEM;
    decoder->segment = decoders->segment;
    if (entry->kind == JOURNAL_GAP) {
        *batch = gap_of(decoders, decoder, entry);
        return OK;
    }
    if (entry->kind == JOURNAL_SNAPSHOT) {
        enum err err = stream_restore(decoder->state, entry->body);
        decoder->is_in_sync = !err;
        return err;
    }
    enum err err = decode_record(decoders, decoder, entry);
    if (!err && entry->is_new)
        *batch = &decoders->batch;
    return err;
}

size_t stream_decoders_count(const struct stream_decoders *decoders)
{
    return decoders->map.count;
}
