/* A table by stream and host. */
#include "sinks/stream_decoders.h"

#include "journal/stream.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 64u

struct channel {
    struct channel *next;
    char *host;
    uint64_t stream;
    uint64_t segment; /* of its last entry */
    struct stream *decoder;
    bool is_good; /* the next record can be decoded */
};

struct channels {
    struct channel **buckets;
    size_t bucket_count, count;
    uint64_t segment; /* of the journal, that is read now */
    struct batch batch;
    struct batch_gap gap;
};

enum err channels_new(struct channels **channels)
{
    struct channels *new = *channels = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    batch_init(&new->batch);
    new->bucket_count = BUCKETS_FIRST;
    new->buckets = calloc(BUCKETS_FIRST, sizeof(struct channel *));
    if (!new->buckets)
        channels_free(channels);
    return *channels ? OK : NOMEM;
}

static void channel_free(struct channel *channel)
{
    stream_free(&channel->decoder);
    free(channel->host);
    free(channel);
}

void channels_reset(struct channels *channels)
{
    for (size_t i = 0; channels->buckets && i < channels->bucket_count; i++) {
        for (struct channel *channel = channels->buckets[i], *next; channel; channel = next) {
            next = channel->next;
            channel_free(channel);
        }
        channels->buckets[i] = NULL;
    }
    channels->count = 0;
}

void channels_free(struct channels **channels)
{
    if (!*channels)
        return;
    channels_reset(*channels);
    batch_clear(&(*channels)->batch);
    free((*channels)->buckets);
    free(*channels);
    *channels = NULL;
}

void channels_enter(struct channels *channels, uint64_t segment)
{
    if (segment == channels->segment)
        return;
    for (size_t i = 0; i < channels->bucket_count; i++)
        for (struct channel **at = &channels->buckets[i], *channel; (channel = *at);) {
            if (channel->segment == channels->segment) {
                at = &channel->next;
                continue;
            }
            *at = channel->next;
            channel_free(channel);
            channels->count--;
        }
    channels->segment = segment;
}

static void grow(struct channels *channels)
{
    size_t count = channels->bucket_count * 2;
    struct channel **buckets = calloc(count, sizeof *buckets);
    if (!buckets)
        return; /* slower, not wrong */
    for (size_t i = 0; i < channels->bucket_count; i++)
        for (struct channel *channel = channels->buckets[i], *next; channel; channel = next) {
            next = channel->next;
            channel->next = buckets[channel->stream & (count - 1)];
            buckets[channel->stream & (count - 1)] = channel;
        }
    free(channels->buckets);
    channels->buckets = buckets;
    channels->bucket_count = count;
}

static struct channel *channel_new(const struct journal_entry *entry)
{
    struct channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return NULL;
    channel->host = strdup(entry->host);
    channel->stream = entry->stream;
    if (!channel->host || stream_new(&channel->decoder)) {
        channel_free(channel);
        return NULL;
    }
    return channel;
}

/* NULL: memory ran out. */
static struct channel *find(struct channels *channels, const struct journal_entry *entry)
{
    struct channel *channel = channels->buckets[entry->stream & (channels->bucket_count - 1)];
    while (channel && (channel->stream != entry->stream || strcmp(channel->host, entry->host) != 0))
        channel = channel->next;
    if (channel)
        return channel;
    if (channels->count >= channels->bucket_count)
        grow(channels);
    channel = channel_new(entry);
    if (!channel)
        return NULL;
    struct channel **bucket = &channels->buckets[entry->stream & (channels->bucket_count - 1)];
    channel->next = *bucket;
    *bucket = channel;
    channels->count++;
    return channel;
}

static void name_batch(struct batch *batch, const struct channel *channel, const struct journal_entry *entry)
{
    batch->host = channel->host;
    batch->stream = entry->stream;
    batch->sequence = entry->sequence;
    batch->position = entry->position;
}

/* What this reader has missed becomes a batch of nothing but a gap. */
static const struct batch *gap_of(struct channels *channels, struct channel *channel, const struct journal_entry *entry)
{
    channels->gap = (struct batch_gap){
        entry->gap_from_ns, entry->gap_to_ns, entry->gap_records, entry->gap_reason ? entry->gap_reason : "lost",
    };
    batch_reset(&channels->batch);
    channels->batch.gaps = &channels->gap;
    channels->batch.gap_count = 1;
    name_batch(&channels->batch, channel, entry);
    return &channels->batch;
}

static enum err take_record(struct channels *channels, struct channel *channel, const struct journal_entry *entry)
{
    if (!channel->is_good && entry->sequence != 1)
        return CORRUPT;
    enum err err = stream_decode(channel->decoder, entry->body, &channels->batch);
    channel->is_good = !err;
    name_batch(&channels->batch, channel, entry);
    return err == NOMEM ? NOMEM : err ? CORRUPT : OK;
}

enum err channels_take(struct channels *channels, const struct journal_entry *entry, const struct batch **batch)
{
    struct channel *channel = find(channels, entry);
    *batch = NULL;
    if (!channel)
        return NOMEM;
    channel->segment = channels->segment;
    if (entry->kind == JOURNAL_GAP) {
        *batch = gap_of(channels, channel, entry);
        return OK;
    }
    if (entry->kind == JOURNAL_STATE) {
        enum err err = stream_restore(channel->decoder, entry->body);
        channel->is_good = !err;
        return err;
    }
    enum err err = take_record(channels, channel, entry);
    if (!err && entry->is_new)
        *batch = &channels->batch;
    return err;
}

size_t channels_count(const struct channels *channels)
{
    return channels->count;
}
