/* A record: looked at, decoded (which also makes it what is shown now), and kept as it is, with its state before it where
 * the journal needs one. */
#include "collector/receiver.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "model/pack.h"

#include <stdio.h>

#define AHEAD_NS NS_PER_S /* a sample from the future by more than this means that a clock is wrong */
#define CLOCK_SET_NS (60 * NS_PER_S) /* a difference that is told */

static struct unpacker unpacker_of(struct bytes bytes)
{
    return (struct unpacker){ (const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.size, false };
}

static struct bytes rest_of(const struct unpacker *unpacker)
{
    return (struct bytes){ (const char *)unpacker->at, (size_t)(unpacker->end - unpacker->at) };
}

void receiver_take_state(struct receiver *receiver, struct peer *peer, struct bytes body)
{
    struct unpacker unpacker = unpacker_of(body);
    struct feed *feed = peer_feed(peer, unpack_number(&unpacker));
    if (unpacker.bad || !feed) {
        receiver_refuse(receiver, peer, false, "it tells the state of a stream that it has not opened");
        return;
    }
    if (stream_restore(feed->decoder, rest_of(&unpacker))) {
        receiver_refuse(receiver, peer, false, "the state of its stream cannot be read");
        return;
    }
    feed->has_state = feed->is_fresh = true;
    feed->is_placed = feed->is_broken = false;
}

/* What cannot be read would be sent again and again: it is passed over, counted, and told to whoever sent it. */
static void pass_over(struct receiver *receiver, struct feed *feed, const struct message *message, enum err err)
{
    struct message_cannot cannot = {
        .kind = MESSAGE_RECORD, .version = message->version, .number = message->number,
        .why = bytes_of(err == FULL ? "it holds more than this collector takes" : "it makes no sense after what came before"),
    };
    feed->is_broken = true;
    buf_reset(&receiver->body);
    message_write_cannot(&receiver->body, &cannot);
    receiver_answer(receiver, feed->peer, MESSAGE_CANNOT);
    log_warn("a record of %s cannot be read: %s. It is passed over, and what follows until its agent begins anew.",
             feed->origin->host, err == FULL ? "it is too large" : "it makes no sense");
}

void receiver_count_broken(struct receiver *receiver, struct feed *feed)
{
    receiver->figures.unreadable++;
    feed->origin->lost++;
    snprintf(feed->origin->gap_reason, sizeof feed->origin->gap_reason, "not readable");
}

/* Where the record belongs in the journal. */
struct place {
    uint64_t stream, last;
    bool is_double, wants_state;
};

static struct place place_of(const struct receiver *receiver, const struct feed *feed, uint64_t sequence)
{
    const struct journal *journal = receiver->settings.journal;
    const char *host = feed->origin->host;
    struct place place = { .stream = feed->stream };
    if (receiver->holes.count)
        place.stream = holes_stream(&receiver->holes, host, feed->stream, sequence);
    place.last = journal_last_sequence(journal, host, place.stream);
    place.is_double = sequence <= place.last;
    place.wants_state = !place.is_double && (feed->is_fresh || sequence != place.last + 1
                        || (feed->is_placed && sequence != feed->sequence + 1)
                        || journal_needs_snapshot(journal, host, place.stream));
    return place;
}

static void note_gaps(struct origin *origin, const struct batch *batch)
{
    for (size_t i = 0; i < batch->gap_count; i++) {
        const struct batch_gap *gap = &batch->gaps[i];
        origin->lost += gap->batches;
        origin->gap_from_ns = gap->from_ns;
        origin->gap_to_ns = gap->to_ns;
        snprintf(origin->gap_reason, sizeof origin->gap_reason, "%s", gap->reason ? gap->reason : "");
    }
}

static uint64_t newest_of(const struct batch *batch)
{
    uint64_t newest_ns = 0;
    for (size_t i = 0; i < batch->count; i++)
        newest_ns = batch->samples[i].time_ns > newest_ns ? batch->samples[i].time_ns : newest_ns;
    return newest_ns;
}

/* A stream is in the order of its readings: when their time falls by much, somebody has set the clock back. What waited in a
 * spool tells as well as what comes at once by how much. */
static void note_set_back(struct feed *feed, uint64_t sample_ns)
{
    struct origin *origin = feed->origin;
    uint64_t back_ns = feed->sample_ns + origin->interval_ns - sample_ns;
    origin->ahead_ns -= (int64_t)back_ns;
    origin->ahead_known = true;
    if (origin->newest == feed)
        origin->sample_ns = sample_ns;
    log_warn("the clock of %s was set back by %s. Its times are kept as it tells them.", origin->host, text_duration(back_ns).s);
}

static void note_ahead(struct origin *origin, int64_t ahead_ns)
{
    int64_t known_ns = origin->ahead_known ? origin->ahead_ns : 0;
    if (ahead_ns <= (int64_t)AHEAD_NS + known_ns)
        return;
    if (ahead_ns - known_ns > (int64_t)CLOCK_SET_NS)
        log_warn("the clock of %s is %s ahead. Its times are kept as it tells them.", origin->host,
                 text_duration((uint64_t)ahead_ns).s);
    origin->ahead_ns = ahead_ns;
    origin->ahead_known = true;
}

static void note_time(struct feed *feed, const struct batch *batch)
{
    struct origin *origin = feed->origin;
    uint64_t now_ns = clock_realtime_ns(), sample_ns = newest_of(batch);
    feed->taken_ns = clock_monotonic_ns();
    origin->heard_ns = now_ns;
    if (!sample_ns)
        return;
    if (feed->sample_ns && sample_ns > feed->sample_ns)
        origin->interval_ns = sample_ns - feed->sample_ns;
    else if (sample_ns + CLOCK_SET_NS < feed->sample_ns)
        note_set_back(feed, sample_ns);
    feed->sample_ns = sample_ns;
    if (sample_ns >= origin->sample_ns || !origin->newest) {
        origin->sample_ns = sample_ns;
        origin->newest = feed;
    }
    note_ahead(origin, (int64_t)(sample_ns - now_ns));
}

static void note(struct receiver *receiver, struct feed *feed, size_t bytes)
{
    struct origin *origin = feed->origin;
    size_t values = 0;
    for (size_t i = 0; i < receiver->batch.count; i++)
        values += receiver->batch.samples[i].set->size;
    origin->records++;
    origin->samples += receiver->batch.count;
    origin->bytes += bytes;
    receiver->figures.records++;
    receiver->figures.samples += receiver->batch.count;
    receiver->figures.values += values;
    note_gaps(origin, &receiver->batch);
}

/* A jump: what was jumped over may come by another way, unless the record itself says that it is lost. */
static enum err note_jump(struct receiver *receiver, struct feed *feed, const struct place *place, uint64_t sequence)
{
    if (place->stream != feed->stream && feed->origin->missing)
        feed->origin->missing--; /* it fills a hole */
    if (sequence == place->last + 1 || receiver->batch.gap_count)
        return OK;
    if (place->last && place->stream == feed->stream)
        feed->origin->missing += sequence - place->last - 1;
    return holes_add(&receiver->holes, feed->origin->host, place->stream, place->last + 1, sequence - 1);
}

static enum err append(struct receiver *receiver, struct feed *feed, const struct place *place, uint64_t sequence,
                       struct bytes record)
{
    struct journal_entry entry = {
        .kind = JOURNAL_SNAPSHOT, .host = feed->origin->host, .stream = place->stream, .sequence = sequence - 1,
        .time_ns = stream_time_ns(feed->decoder), .body = { receiver->snapshot.data, receiver->snapshot.size },
    };
    enum err err = place->wants_state ? journal_append(receiver->settings.journal, &entry) : OK;
    entry.kind = JOURNAL_RECORD;
    entry.sequence = sequence;
    entry.body = record;
    if (!err)
        err = journal_append(receiver->settings.journal, &entry);
    if (!err)
        feed->is_fresh = false;
    return err;
}

/* The disk is full, or broken: nothing is taken until it is not. Whoever sent it keeps it, and asks again. */
static void cannot_keep(struct receiver *receiver, struct peer *peer, enum err err)
{
    if (!receiver->is_full)
        log_error("the journal %s cannot be written: %s. Agents keep their samples until it can.", receiver->settings.dir,
                  err_text(err));
    receiver->is_full = true;
    if (peer)
        receiver_refuse(receiver, peer, false, "the collector cannot write its journal: %s", err_text(err));
}

static enum err keep(struct receiver *receiver, struct feed *feed, const struct place *place, uint64_t sequence,
                     struct bytes record)
{
    uint64_t begin_ns = clock_monotonic_ns();
    enum err err = note_jump(receiver, feed, place, sequence);
    if (!err)
        err = append(receiver, feed, place, sequence, record);
    receiver->figures.append_ns += clock_monotonic_ns() - begin_ns;
    if (err) {
        cannot_keep(receiver, feed->peer, err);
        return err;
    }
    receiver->is_full = false;
    note(receiver, feed, record.size);
    return OK;
}

static bool is_in_order(struct receiver *receiver, struct peer *peer, struct feed *feed, uint64_t sequence)
{
    if (!feed->has_state && sequence == 1)
        feed->has_state = true;
    if (feed->has_state && sequence && (!feed->is_placed || sequence > feed->sequence))
        return true;
    receiver_refuse(receiver, peer, false, feed->has_state ? "record %llu of its stream came out of order"
                    : "record %llu of its stream came without a state", (unsigned long long)sequence);
    return false;
}

enum err receiver_take_in(struct receiver *receiver, struct feed *feed, uint64_t sequence, struct bytes record, bool *is_read)
{
    uint64_t begin_ns = clock_monotonic_ns();
    struct place place = place_of(receiver, feed, sequence);
    buf_reset(&receiver->snapshot);
    if (place.wants_state)
        stream_snapshot(feed->decoder, &receiver->snapshot);
    batch_reset(&receiver->batch);
    enum err err = stream_decode(feed->decoder, record, &receiver->batch);
    receiver->figures.read_ns += clock_monotonic_ns() - begin_ns;
    feed->sequence = sequence;
    feed->is_placed = true;
    *is_read = !err;
    if (err)
        return err;
    note_time(feed, &receiver->batch);
    if (!place.is_double)
        return keep(receiver, feed, &place, sequence, record);
    feed->origin->doubles++;
    receiver->figures.doubles++;
    return OK;
}

static void take(struct receiver *receiver, struct feed *feed, const struct message *message, uint64_t sequence,
                 struct bytes record)
{
    bool is_read;
    enum err err = receiver_take_in(receiver, feed, sequence, record, &is_read);
    if (is_read)
        return;
    pass_over(receiver, feed, message, err);
    receiver_count_broken(receiver, feed);
}

void receiver_take_record(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    struct unpacker unpacker = unpacker_of(message->body);
    struct feed *feed = peer_feed(peer, unpack_number(&unpacker));
    uint64_t sequence = unpack_number(&unpacker);
    if (unpacker.bad || !feed)
        receiver_refuse(receiver, peer, false, "it sends a record of a stream that it has not opened");
    else if (feed->is_broken)
        receiver_count_broken(receiver, feed);
    else if (is_in_order(receiver, peer, feed, sequence))
        take(receiver, feed, message, sequence, rest_of(&unpacker));
}

enum err receiver_put(struct receiver *receiver, struct feed *feed, const struct batch *batch)
{
    struct place place = place_of(receiver, feed, feed->sequence + 1);
    struct buf record;
    buf_init(&record, STREAM_RECORD_MAX);
    buf_reset(&receiver->snapshot);
    if (place.wants_state)
        stream_snapshot(feed->decoder, &receiver->snapshot);
    enum err err = stream_encode(feed->decoder, batch, &record);
    if (!err)
        err = append(receiver, feed, &place, feed->sequence + 1, (struct bytes){ record.data, record.size });
    if (!err) {
        feed->sequence++;
        feed->is_placed = receiver->is_dirty = true;
        note_time(feed, batch);
        feed->origin->records++;
        feed->origin->samples += batch->count;
        feed->origin->bytes += record.size;
    } else
        feed->is_fresh = true; /* what was encoded is not in the journal: the next record needs the state as it is now */
    buf_clear(&record);
    return err;
}
