/* Records and states. A record is decoded, which also updates the current values, and appended to the journal as it is,
 * preceded by its state where the journal needs one. */
#include "collector/receiver.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "model/pack.h"

#include <stdio.h>

#define AHEAD_NS NS_PER_S            /* a sample further in the future means that a clock is wrong */
#define DROP_LOG_NS (60 * NS_PER_S)
#define CLOCK_SET_NS (60 * NS_PER_S) /* minimum difference that is logged */

static struct unpacker unpacker_of(struct bytes bytes)
{
    return (struct unpacker){ (const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.size, false };
}

static struct bytes rest_of(const struct unpacker *unpacker)
{
    return (struct bytes){ (const char *)unpacker->at, (size_t)(unpacker->end - unpacker->at) };
}

void receiver_handle_state(struct receiver *receiver, struct peer *peer, struct bytes body)
{
    struct unpacker unpacker = unpacker_of(body);
    struct feed *feed = peer_feed(peer, unpack_number(&unpacker));
    if (unpacker.bad || !feed) {
        receiver_refuse(receiver, peer, false, "it sent the state of a stream that is not open");
        return;
    }
    if (stream_restore(feed->decoder, rest_of(&unpacker))) {
        receiver_refuse(receiver, peer, false, "cannot decode the state of its stream");
        return;
    }
    feed->has_state = feed->needs_snapshot = true;
    feed->has_sequence = feed->is_broken = false;
}

/* An undecodable record would be sent again and again: it is skipped, counted, and reported to its sender. */
static void skip_record(struct receiver *receiver, struct feed *feed, const struct message *message, enum err err)
{
    struct message_cannot cannot = {
        .kind = MESSAGE_RECORD, .version = message->version, .number = message->number,
        .error = bytes_of(err == FULL ? "the record is too large" : "the record does not match the state of its stream"),
    };
    feed->is_broken = true;
    buf_reset(&receiver->body);
    message_write_cannot(&receiver->body, &cannot);
    receiver_send(receiver, feed->peer, MESSAGE_CANNOT);
    log_warn("cannot decode a record of %s: %s. Skipping records until its agent sends a new state.",
             feed->known_host->host, err == FULL ? "it is too large" : "it does not match the state of its stream");
}

void receiver_count_unreadable(struct receiver *receiver, struct feed *feed)
{
    receiver->figures.unreadable++;
    feed->known_host->lost++;
    snprintf(feed->known_host->gap_reason, sizeof feed->known_host->gap_reason, "not readable");
}

/* Where a record belongs in the journal. */
struct journal_position {
    uint64_t stream, last;
    bool is_duplicate, needs_state;
};

static struct journal_position position_of(const struct receiver *receiver, const struct feed *feed, uint64_t sequence)
{
    const struct journal *journal = receiver->settings.journal;
    const char *host = feed->known_host->host;
    struct journal_position position = { .stream = feed->stream };
    if (receiver->gaps.count)
        position.stream = seq_gaps_stream(&receiver->gaps, host, feed->stream, sequence);
    position.last = journal_last_sequence(journal, host, position.stream);
    position.is_duplicate = sequence <= position.last;
    position.needs_state = !position.is_duplicate && (feed->needs_snapshot || sequence != position.last + 1
                        || (feed->has_sequence && sequence != feed->sequence + 1)
                        || journal_needs_snapshot(journal, host, position.stream));
    return position;
}

static void note_gaps(struct known_host *known_host, const struct batch *batch)
{
    for (size_t i = 0; i < batch->gap_count; i++) {
        const struct batch_gap *gap = &batch->gaps[i];
        known_host->lost += gap->batches;
        known_host->gap_from_ns = gap->from_ns;
        known_host->gap_to_ns = gap->to_ns;
        snprintf(known_host->gap_reason, sizeof known_host->gap_reason, "%s", gap->reason ? gap->reason : "");
    }
}

static uint64_t newest_of(const struct batch *batch)
{
    uint64_t newest_ns = 0;
    for (size_t i = 0; i < batch->count; i++)
        newest_ns = batch->samples[i].time_ns > newest_ns ? batch->samples[i].time_ns : newest_ns;
    return newest_ns;
}

/* A stream is ordered by the time of its readings: if the time decreases by much, the host's clock was set back. This
 * also holds for records that waited in the agent's journal. */
static void note_clock_set_back(struct feed *feed, uint64_t sample_ns)
{
    struct known_host *known_host = feed->known_host;
    uint64_t back_ns = feed->sample_ns + known_host->interval_ns - sample_ns;
    known_host->clock_ahead_ns -= (int64_t)back_ns;
    known_host->has_clock_ahead = true;
    if (known_host->newest == feed)
        known_host->sample_ns = sample_ns;
    log_warn("the clock of %s was set back by %s. Its timestamps are kept unchanged.", known_host->host,
             format_duration(back_ns).s);
}

static void note_ahead(struct known_host *known_host, int64_t clock_ahead_ns)
{
    int64_t known_ns = known_host->has_clock_ahead ? known_host->clock_ahead_ns : 0;
    if (clock_ahead_ns <= (int64_t)AHEAD_NS + known_ns)
        return;
    if (clock_ahead_ns - known_ns > (int64_t)CLOCK_SET_NS)
        log_warn("the clock of %s is %s ahead. Its timestamps are kept unchanged.", known_host->host,
                 format_duration((uint64_t)clock_ahead_ns).s);
    known_host->clock_ahead_ns = clock_ahead_ns;
    known_host->has_clock_ahead = true;
}

static void note_time(struct feed *feed, const struct batch *batch)
{
    struct known_host *known_host = feed->known_host;
    uint64_t now_ns = clock_realtime_ns(), sample_ns = newest_of(batch);
    feed->last_record_ns = clock_monotonic_ns();
    known_host->last_received_ns = now_ns;
    if (!sample_ns)
        return;
    if (feed->sample_ns && sample_ns > feed->sample_ns)
        known_host->interval_ns = sample_ns - feed->sample_ns;
    else if (sample_ns + CLOCK_SET_NS < feed->sample_ns)
        note_clock_set_back(feed, sample_ns);
    feed->sample_ns = sample_ns;
    if (sample_ns >= known_host->sample_ns || !known_host->newest) {
        known_host->sample_ns = sample_ns;
        known_host->newest = feed;
    }
    note_ahead(known_host, (int64_t)(sample_ns - now_ns));
}

static void note(struct receiver *receiver, struct feed *feed, size_t bytes)
{
    struct known_host *known_host = feed->known_host;
    size_t values = 0;
    for (size_t i = 0; i < receiver->batch.count; i++)
        values += receiver->batch.samples[i].set->size;
    known_host->records++;
    known_host->samples += receiver->batch.count;
    known_host->bytes += bytes;
    receiver->figures.records++;
    receiver->figures.samples += receiver->batch.count;
    receiver->figures.values += values;
    note_gaps(known_host, &receiver->batch);
}

/* Sequence numbers were skipped: the missing records may still arrive by another way, unless the record itself reports
 * them as lost. */
static enum err note_jump(struct receiver *receiver, struct feed *feed, const struct journal_position *position,
                          uint64_t sequence)
{
    if (position->stream != feed->stream && feed->known_host->missing)
        feed->known_host->missing--; /* it fills a gap */
    if (sequence == position->last + 1 || receiver->batch.gap_count)
        return OK;
    if (position->last && position->stream == feed->stream)
        feed->known_host->missing += sequence - position->last - 1;
    return seq_gaps_add(&receiver->gaps, feed->known_host->host, position->stream, position->last + 1, sequence - 1);
}

static enum err append(struct receiver *receiver, struct feed *feed, const struct journal_position *position,
                       uint64_t sequence,
                       struct bytes record)
{
    struct journal_entry entry = {
        .kind = JOURNAL_SNAPSHOT, .host = feed->known_host->host, .stream = position->stream, .sequence = sequence - 1,
        .time_ns = stream_time_ns(feed->decoder), .body = { receiver->snapshot.data, receiver->snapshot.size },
    };
    enum err err = position->needs_state ? journal_append(receiver->settings.journal, &entry) : OK;
    entry.kind = JOURNAL_RECORD;
    entry.sequence = sequence;
    entry.body = record;
    if (!err)
        err = journal_append(receiver->settings.journal, &entry);
    if (!err)
        feed->needs_snapshot = false;
    return err;
}

/* The disk is full or broken: nothing is accepted until it is fixed. The sender keeps the record and tries again. */
static void report_journal_error(struct receiver *receiver, struct peer *peer, enum err err)
{
    if (!receiver->is_full)
        log_error("cannot write the journal %s: %s. Agents keep their samples meanwhile.", receiver->settings.dir,
                  err_text(err));
    receiver->is_full = true;
    if (peer)
        receiver_refuse(receiver, peer, false, "the collector cannot write its journal: %s", err_text(err));
}

/* Runs of users must not displace samples: if sinks are so far behind that half of the journal is used, pieces of runs are
 * replaced by records without content, because the sequence must have no gap. */
static bool is_dropped(struct receiver *receiver, const struct feed *feed)
{
    struct journal_figures figures;
    uint64_t now_ns = clock_monotonic_ns();
    if (!receiver->batch.piece)
        return false;
    journal_figures(receiver->settings.journal, &figures);
    if (figures.bytes < figures.bytes_max / 2)
        return false;
    receiver->figures.pieces_dropped++;
    if (!receiver->dropped_ns || now_ns - receiver->dropped_ns > DROP_LOG_NS)
        log_warn("dropped a run of user %u of %s: half of the journal %s is used, the rest is for samples. Is a sink failing?",
                 receiver->batch.piece->uid, feed->known_host->host, receiver->settings.dir);
    receiver->dropped_ns = now_ns;
    return true;
}

static enum err keep(struct receiver *receiver, struct feed *feed, const struct journal_position *position,
                     uint64_t sequence,
                     struct bytes record)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (is_dropped(receiver, feed))
        record = (struct bytes){ "", 1 };
    enum err err = note_jump(receiver, feed, position, sequence);
    if (!err)
        err = append(receiver, feed, position, sequence, record);
    receiver->figures.append_ns += clock_monotonic_ns() - begin_ns;
    if (err) {
        report_journal_error(receiver, feed->peer, err);
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
    if (feed->has_state && sequence && (!feed->has_sequence || sequence > feed->sequence))
        return true;
    receiver_refuse(receiver, peer, false, feed->has_state ? "record %llu of its stream is out of order"
                    : "record %llu of its stream has no state", (unsigned long long)sequence);
    return false;
}

enum err receiver_add_record(struct receiver *receiver, struct feed *feed, uint64_t sequence, struct bytes record,
                             bool *is_read)
{
    uint64_t begin_ns = clock_monotonic_ns();
    struct journal_position position = position_of(receiver, feed, sequence);
    buf_reset(&receiver->snapshot);
    if (position.needs_state)
        stream_snapshot(feed->decoder, &receiver->snapshot);
    batch_reset(&receiver->batch);
    enum err err = stream_decode(feed->decoder, record, &receiver->batch);
    receiver->figures.read_ns += clock_monotonic_ns() - begin_ns;
    feed->sequence = sequence;
    feed->has_sequence = true;
    *is_read = !err;
    if (err)
        return err;
    note_time(feed, &receiver->batch);
    if (!position.is_duplicate)
        return keep(receiver, feed, &position, sequence, record);
    feed->known_host->duplicates++;
    receiver->figures.duplicates++;
    return OK;
}

static void take(struct receiver *receiver, struct feed *feed, const struct message *message, uint64_t sequence,
                 struct bytes record)
{
    bool is_read;
    enum err err = receiver_add_record(receiver, feed, sequence, record, &is_read);
    if (is_read)
        return;
    skip_record(receiver, feed, message, err);
    receiver_count_unreadable(receiver, feed);
}

void receiver_handle_record(struct receiver *receiver, struct peer *peer, const struct message *message)
{
    struct unpacker unpacker = unpacker_of(message->body);
    struct feed *feed = peer_feed(peer, unpack_number(&unpacker));
    uint64_t sequence = unpack_number(&unpacker);
    if (unpacker.bad || !feed)
        receiver_refuse(receiver, peer, false, "it sent a record of a stream that is not open");
    else if (feed->is_broken)
        receiver_count_unreadable(receiver, feed);
    else if (is_in_order(receiver, peer, feed, sequence))
        take(receiver, feed, message, sequence, rest_of(&unpacker));
}

enum err receiver_add_batch(struct receiver *receiver, struct feed *feed, const struct batch *batch)
{
    struct journal_position position = position_of(receiver, feed, feed->sequence + 1);
    struct buf record;
    buf_init(&record, STREAM_RECORD_MAX);
    buf_reset(&receiver->snapshot);
    if (position.needs_state)
        stream_snapshot(feed->decoder, &receiver->snapshot);
    enum err err = stream_encode(feed->decoder, batch, &record);
    if (!err)
        err = append(receiver, feed, &position, feed->sequence + 1, (struct bytes){ record.data, record.size });
    if (!err) {
        feed->sequence++;
        feed->has_sequence = receiver->is_dirty = true;
        note_time(feed, batch);
        feed->known_host->records++;
        feed->known_host->samples += batch->count;
        feed->known_host->bytes += record.size;
    } else
        feed->needs_snapshot = true; /* the encoded record is not in the journal: the next one needs the current state */
    buf_clear(&record);
    return err;
}

static bool follows(const struct feed *feed, const struct kafka_envelope *envelope)
{
    return feed->has_sequence && !feed->is_broken && feed->epoch == envelope->epoch && feed->sequence == envelope->before;
}

/* If the state is already known, none is needed, and none is appended to the journal. */
static enum err make_ready(struct feed *feed, const struct kafka_envelope *envelope)
{
    if (follows(feed, envelope))
        return OK;
    if (!envelope->state.size)
        return ABSENT;
    if (stream_restore(feed->decoder, envelope->state))
        return CORRUPT;
    feed->has_state = feed->needs_snapshot = true;
    feed->has_sequence = feed->is_broken = false;
    feed->epoch = envelope->epoch;
    return OK;
}

/* Records that are already stored are not needed. (With gaps, a stream has more than one position.) */
static bool is_duplicate(const struct receiver *receiver, const struct feed *feed, const struct kafka_envelope *envelope)
{
    return !receiver->gaps.count
        && envelope->sequence <= journal_last_sequence(receiver->settings.journal, feed->known_host->host, feed->stream);
}

enum err receiver_add_envelope(struct receiver *receiver, struct feed *feed, const struct kafka_envelope *envelope)
{
    bool is_read = false;
    enum err err = make_ready(feed, envelope);
    if (err == ABSENT && !is_duplicate(receiver, feed, envelope))
        return ABSENT;
    receiver->is_dirty = true; /* whatever the result, it must not be delivered again */
    if (err == ABSENT) {
        feed->known_host->duplicates++;
        receiver->figures.duplicates++;
        return OK;
    }
    if (!err)
        err = receiver_add_record(receiver, feed, envelope->sequence, envelope->record, &is_read);
    feed->is_broken = err != OK;
    if (is_read)
        return err;
    receiver_count_unreadable(receiver, feed);
    return CORRUPT;
}

void receiver_restore_envelope(struct receiver *receiver, struct feed *feed, const struct kafka_envelope *envelope)
{
    bool is_known = feed->has_sequence && !feed->is_broken && feed->epoch == envelope->epoch
                    && feed->sequence >= envelope->sequence;
    if (is_known || make_ready(feed, envelope))
        return;
    batch_reset(&receiver->batch);
    feed->is_broken = stream_decode(feed->decoder, envelope->record, &receiver->batch) != OK;
    feed->sequence = envelope->sequence;
    feed->has_sequence = feed->needs_snapshot = true;
}

void receiver_skip_envelope(struct receiver *receiver, struct feed *feed)
{
    receiver->is_dirty = true;
    receiver_count_unreadable(receiver, feed);
}
