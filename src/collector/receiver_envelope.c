/* Records that come alone: each is decoded where its state is known, because it follows the one before or brings its own. */
#include "collector/receiver.h"

static bool follows(const struct feed *feed, const struct parcel *parcel)
{
    return feed->is_placed && !feed->is_broken && feed->epoch == parcel->epoch && feed->sequence == parcel->before;
}

/* Who has the state already needs no other: then none goes into the journal either. */
static enum err make_ready(struct feed *feed, const struct parcel *parcel)
{
    if (follows(feed, parcel))
        return OK;
    if (!parcel->state.size)
        return ABSENT;
    if (stream_restore(feed->decoder, parcel->state))
        return CORRUPT;
    feed->has_state = feed->is_fresh = true;
    feed->is_placed = feed->is_broken = false;
    feed->epoch = parcel->epoch;
    return OK;
}

/* Of what is there already nothing is wanted. (With holes a stream has more than one place.) */
static bool is_double(const struct receiver *receiver, const struct feed *feed, const struct parcel *parcel)
{
    return !receiver->holes.count
        && parcel->sequence <= journal_last_sequence(receiver->settings.journal, feed->origin->host, feed->stream);
}

enum err receiver_take_parcel(struct receiver *receiver, struct feed *feed, const struct parcel *parcel)
{
    bool is_read = false;
    enum err err = make_ready(feed, parcel);
    if (err == ABSENT && !is_double(receiver, feed, parcel))
        return ABSENT;
    receiver->is_dirty = true; /* whatever becomes of it, nobody shall read it again */
    if (err == ABSENT) {
        feed->origin->doubles++;
        receiver->figures.doubles++;
        return OK;
    }
    if (!err)
        err = receiver_take_in(receiver, feed, parcel->sequence, parcel->record, &is_read);
    feed->is_broken = err != OK;
    if (is_read)
        return err;
    receiver_count_broken(receiver, feed);
    return CORRUPT;
}

void receiver_recall_parcel(struct receiver *receiver, struct feed *feed, const struct parcel *parcel)
{
    bool is_known = feed->is_placed && !feed->is_broken && feed->epoch == parcel->epoch && feed->sequence >= parcel->sequence;
    if (is_known || make_ready(feed, parcel))
        return;
    batch_reset(&receiver->batch);
    feed->is_broken = stream_decode(feed->decoder, parcel->record, &receiver->batch) != OK;
    feed->sequence = parcel->sequence;
    feed->is_placed = feed->is_fresh = true;
}

void receiver_miss_parcel(struct receiver *receiver, struct feed *feed)
{
    receiver->is_dirty = true;
    receiver_count_broken(receiver, feed);
}
