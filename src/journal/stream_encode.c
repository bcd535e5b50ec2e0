/* Encodes a batch as a record. Everything that can fail comes first (finding what is new, checking limits, reserving
 * memory) and is undone on an error; only then is the record written and the state moved forward. */
#include "journal/encoder_state.h"
#include "base/vec.h"
#include "journal/describe.h"
#include "journal/samples.h"

static size_t gaps_size_max(const struct batch *batch)
{
    size_t size = 16;
    for (size_t i = 0; i < batch->gap_count; i++)
        size += 4 * PACK_NUMBER_MAX + strlen(batch->gaps[i].reason);
    return size;
}

static enum err check_gaps(const struct batch *batch)
{
    for (size_t i = 0; i < batch->gap_count; i++)
        if (strlen(batch->gaps[i].reason) > STREAM_STRING_MAX)
            return FULL;
    return batch->gap_count > STREAM_GAPS_MAX || batch->event_count > STREAM_GAPS_MAX ? FULL : OK;
}

/* Upper bound of the record's size. */
static size_t record_size_max(const struct delta_stream *stream, const struct batch *batch)
{
    const struct encoder_state *encoder = stream->encoder;
    size_t size = 256 + gaps_size_max(batch) + samples_size_max(batch->count, encoder->values);
    for (size_t i = 0; i < encoder->new_sets.count; i++)
        size += stream_set_weight(stream->sets[encoder->new_sets.list[i]].set);
    for (size_t i = 0; i < encoder->new_tracks.count; i++) {
        const struct delta_track *track = stream->tracks[encoder->new_tracks.list[i]];
        size += stream_track_weight(track->instance, track->job);
    }
    for (size_t i = 0; i < encoder->new_job_count; i++)
        size += stream_job_weight(&encoder->new_jobs[i].job->job);
    size_t dropped = encoder->dropped_tracks.count + encoder->dropped_sets.count + encoder->dropped_jobs.count;
    return size + PACK_NUMBER_MAX * (dropped + batch->event_count + 3 * ENCODER_LINKS_MAX + 8);
}

static void write_new(const struct delta_stream *stream, struct packer *p)
{
    const struct encoder_state *encoder = stream->encoder;
    if (encoder->new_sets.count)
        pack_number(p, encoder->new_sets.count);
    for (size_t i = 0; i < encoder->new_sets.count; i++)
        describe_set(p, encoder->new_sets.list[i], stream->sets[encoder->new_sets.list[i]].set);
    if (encoder->new_tracks.count)
        pack_number(p, encoder->new_tracks.count);
    for (size_t i = 0; i < encoder->new_tracks.count; i++)
        describe_track(p, stream->tracks[encoder->new_tracks.list[i]]);
    if (encoder->new_job_count)
        pack_number(p, encoder->new_job_count);
    for (size_t i = 0; i < encoder->new_job_count; i++)
        describe_job(p, encoder->new_jobs[i].number, &encoder->new_jobs[i].job->job);
}

static void write_events(const struct encoder_state *encoder, const struct batch *batch, struct packer *p)
{
    if (batch->event_count)
        pack_number(p, batch->event_count);
    for (size_t i = 0; i < batch->event_count; i++)
        pack_number(p, (uint64_t)encoder->event_jobs[i] << 2 | (uint64_t)batch->events[i].event);
    if (batch->gap_count)
        pack_number(p, batch->gap_count);
    for (size_t i = 0; i < batch->gap_count; i++) {
        const struct batch_gap *gap = &batch->gaps[i];
        pack_number(p, gap->from_ns);
        pack_number(p, stream_zigzag(gap->to_ns - gap->from_ns));
        pack_number(p, gap->batches);
        pack_text(p, bytes_of(gap->reason));
    }
}

static void write_changes(const struct encoder_state *encoder, struct packer *p)
{
    const struct encoder_list *lists[] = { &encoder->dropped_tracks, &encoder->dropped_sets, &encoder->dropped_jobs };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        pack_number(p, lists[i]->count);
        for (size_t k = 0; k < lists[i]->count; k++)
            pack_number(p, lists[i]->list[k]);
    }
    pack_number(p, encoder->link_count);
    for (size_t i = 0; i < encoder->link_count; i++) {
        const struct encoder_link *link = &encoder->new_links[i];
        pack_number(p, link->track);
        pack_number(p, link->value);
        pack_number(p, link->is_made ? (uint64_t)link->link + 1 : 0);
    }
}

static bool has_changes(const struct encoder_state *encoder)
{
    return encoder->dropped_tracks.count || encoder->dropped_sets.count || encoder->dropped_jobs.count || encoder->link_count;
}

static unsigned sections_of(const struct encoder_state *encoder, const struct batch *batch)
{
    unsigned sections = 0;
    sections |= encoder->new_sets.count ? STREAM_HAS_SETS : 0;
    sections |= encoder->new_tracks.count ? STREAM_HAS_TRACKS : 0;
    sections |= encoder->new_job_count ? STREAM_HAS_JOBS : 0;
    sections |= batch->event_count ? STREAM_HAS_EVENTS : 0;
    sections |= batch->gap_count ? STREAM_HAS_GAPS : 0;
    sections |= batch->count ? STREAM_HAS_SAMPLES : 0;
    return sections;
}

static void write_record(struct delta_stream *stream, const struct batch *batch, struct packer *p)
{
    struct encoder_state *encoder = stream->encoder;
    uint8_t *sections = p->at++;
    *sections = (uint8_t)sections_of(encoder, batch);
    write_new(stream, p);
    encoder_commit_jobs(stream);
    write_events(encoder, batch, p);
    if (batch->count)
        samples_encode(stream, batch, p);
    if (has_changes(encoder)) {
        *sections |= STREAM_HAS_CHANGES;
        write_changes(encoder, p);
    }
    encoder_commit_links(stream);
    encoder_commit_drops(stream);
}

/* A piece of a run's spool: independent of the stream's state. */
static enum err encode_piece(const struct batch *batch, struct buf *out)
{
    const struct batch_piece *piece = batch->piece;
    struct bytes name = bytes_of(piece->name), user = bytes_of(piece->user);
    if (batch->count || batch->event_count || batch->gap_count || !name.size)
        return USAGE;
    if (piece->data.size > STREAM_PIECE_MAX || name.size > STREAM_STRING_MAX || user.size > STREAM_STRING_MAX)
        return FULL;
    size_t capacity = 1 + 6 * PACK_NUMBER_MAX + name.size + piece->data.size + user.size;
    char *to = buf_reserve(out, capacity);
    if (!to)
        return buf_err(out);
    struct packer p = { (uint8_t *)to, (uint8_t *)to + capacity, false };
    *p.at++ = STREAM_IS_PIECE;
    pack_text(&p, name);
    pack_number(&p, piece->uid);
    pack_number(&p, piece->offset);
    pack_number(&p, piece->total);
    pack_text(&p, piece->data);
    pack_text(&p, user);
    out->size += (size_t)(p.at - (uint8_t *)to);
    out->data[out->size] = '\0';
    return OK;
}

enum err stream_encode(struct delta_stream *stream, const struct batch *batch, struct buf *out)
{
    if (batch->piece)
        return encode_piece(batch, out);
    enum err err = encoder_begin(stream);
    if (!err)
        err = check_gaps(batch);
    if (!err)
        err = encoder_add_samples(stream, batch);
    if (!err)
        err = encoder_add_jobs(stream, batch);
    if (!err)
        err = encoder_find_stale(stream, batch);
    if (!err)
        err = array_reserve_zeroed(stream->job_list, stream->job_list_capacity,
                                   stream->job_count + stream->encoder->new_job_count, VEC_MAX);
    size_t capacity = err ? 0 : record_size_max(stream, batch);
    char *to = err ? NULL : buf_reserve(out, capacity);
    if (!to) {
        encoder_undo(stream);
        return err ? err : buf_err(out);
    }
    struct packer p = { (uint8_t *)to, (uint8_t *)to + capacity, false };
    write_record(stream, batch, &p);
    out->size += (size_t)(p.at - (uint8_t *)to);
    out->data[out->size] = '\0';
    stream_free_dropped(stream);
    stream_list_jobs(stream);
    return OK;
}
