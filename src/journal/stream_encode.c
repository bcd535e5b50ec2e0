/* The encoder: from a batch to a record. Everything that can fail is done first (which sets, tracks and jobs are new, is there
 * room), and undone when it does; only then is the record written and the state moved on. */
#include "journal/encoder_state.h"
#include "journal/stream_describe.h"
#include "journal/stream_samples.h"

static size_t gaps_room(const struct batch *batch)
{
    size_t room = 16;
    for (size_t i = 0; i < batch->gap_count; i++)
        room += 4 * PACK_NUMBER_MAX + strlen(batch->gaps[i].reason);
    return room;
}

static enum err look_at_gaps(const struct batch *batch)
{
    for (size_t i = 0; i < batch->gap_count; i++)
        if (strlen(batch->gaps[i].reason) > STREAM_TEXT_MAX)
            return FULL;
    return batch->gap_count > STREAM_GAPS_MAX || batch->event_count > STREAM_GAPS_MAX ? FULL : OK;
}

/* The most that the record can take. */
static size_t room_for(const struct stream *stream, const struct batch *batch)
{
    const struct stream_bench *bench = stream->bench;
    size_t room = 256 + gaps_room(batch) + samples_room(batch->count, bench->values);
    for (size_t i = 0; i < bench->new_sets.count; i++)
        room += stream_set_weight(stream->sets[bench->new_sets.list[i]].set);
    for (size_t i = 0; i < bench->new_tracks.count; i++) {
        const struct track *track = stream->tracks[bench->new_tracks.list[i]];
        room += stream_track_weight(track->instance, track->job);
    }
    for (size_t i = 0; i < bench->new_job_count; i++)
        room += stream_job_weight(&bench->new_jobs[i].job->job);
    size_t gone = bench->gone_tracks.count + bench->gone_sets.count + bench->gone_jobs.count;
    return room + PACK_NUMBER_MAX * (gone + batch->event_count + 3 * BENCH_LINKS + 8);
}

static void write_new(const struct stream *stream, struct packer *p)
{
    const struct stream_bench *bench = stream->bench;
    if (bench->new_sets.count)
        pack_number(p, bench->new_sets.count);
    for (size_t i = 0; i < bench->new_sets.count; i++)
        describe_set(p, bench->new_sets.list[i], stream->sets[bench->new_sets.list[i]].set);
    if (bench->new_tracks.count)
        pack_number(p, bench->new_tracks.count);
    for (size_t i = 0; i < bench->new_tracks.count; i++)
        describe_track(p, stream->tracks[bench->new_tracks.list[i]]);
    if (bench->new_job_count)
        pack_number(p, bench->new_job_count);
    for (size_t i = 0; i < bench->new_job_count; i++)
        describe_job(p, bench->new_jobs[i].number, &bench->new_jobs[i].job->job);
}

static void write_told(const struct stream_bench *bench, const struct batch *batch, struct packer *p)
{
    if (batch->event_count)
        pack_number(p, batch->event_count);
    for (size_t i = 0; i < batch->event_count; i++)
        pack_number(p, (uint64_t)bench->event_jobs[i] << 2 | (uint64_t)batch->events[i].event);
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

static void write_changes(const struct stream_bench *bench, struct packer *p)
{
    const struct bench_numbers *lists[] = { &bench->gone_tracks, &bench->gone_sets, &bench->gone_jobs };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        pack_number(p, lists[i]->count);
        for (size_t k = 0; k < lists[i]->count; k++)
            pack_number(p, lists[i]->list[k]);
    }
    pack_number(p, bench->link_count);
    for (size_t i = 0; i < bench->link_count; i++) {
        const struct bench_link *link = &bench->new_links[i];
        pack_number(p, link->track);
        pack_number(p, link->value);
        pack_number(p, link->is_made ? (uint64_t)link->link + 1 : 0);
    }
}

static bool has_changes(const struct stream_bench *bench)
{
    return bench->gone_tracks.count || bench->gone_sets.count || bench->gone_jobs.count || bench->link_count;
}

static unsigned sections_of(const struct stream_bench *bench, const struct batch *batch)
{
    unsigned sections = 0;
    sections |= bench->new_sets.count ? STREAM_HAS_SETS : 0;
    sections |= bench->new_tracks.count ? STREAM_HAS_TRACKS : 0;
    sections |= bench->new_job_count ? STREAM_HAS_JOBS : 0;
    sections |= batch->event_count ? STREAM_HAS_EVENTS : 0;
    sections |= batch->gap_count ? STREAM_HAS_GAPS : 0;
    sections |= batch->count ? STREAM_HAS_SAMPLES : 0;
    return sections;
}

static void write_record(struct stream *stream, const struct batch *batch, struct packer *p)
{
    struct stream_bench *bench = stream->bench;
    uint8_t *sections = p->at++;
    *sections = (uint8_t)sections_of(bench, batch);
    write_new(stream, p);
    bench_put_jobs(stream);
    write_told(bench, batch, p);
    if (batch->count)
        samples_encode(stream, batch, p);
    if (has_changes(bench)) {
        *sections |= STREAM_HAS_CHANGES;
        write_changes(bench, p);
    }
    bench_put_links(stream);
    bench_drop(stream);
}

/* It says nothing of the state, and leaves it alone. */
static enum err encode_piece(const struct batch *batch, struct buf *out)
{
    const struct batch_piece *piece = batch->piece;
    struct bytes name = bytes_of(piece->name);
    if (batch->count || batch->event_count || batch->gap_count || !name.size)
        return USAGE;
    if (piece->data.size > STREAM_PIECE_MAX || name.size > STREAM_TEXT_MAX)
        return FULL;
    size_t room = 1 + 5 * PACK_NUMBER_MAX + name.size + piece->data.size;
    char *to = buf_reserve(out, room);
    if (!to)
        return buf_err(out);
    struct packer p = { (uint8_t *)to, (uint8_t *)to + room, false };
    *p.at++ = STREAM_IS_PIECE;
    pack_text(&p, name);
    pack_number(&p, piece->uid);
    pack_number(&p, piece->offset);
    pack_number(&p, piece->total);
    pack_text(&p, piece->data);
    out->size += (size_t)(p.at - (uint8_t *)to);
    out->data[out->size] = '\0';
    return OK;
}

enum err stream_encode(struct stream *stream, const struct batch *batch, struct buf *out)
{
    if (batch->piece)
        return encode_piece(batch, out);
    enum err err = bench_begin(stream);
    if (!err)
        err = look_at_gaps(batch);
    if (!err)
        err = bench_samples(stream, batch);
    if (!err)
        err = bench_jobs(stream, batch);
    if (!err)
        err = bench_sweep(stream, batch);
    if (!err)
        err = stream_grow(&stream->job_list, &stream->job_list_room, stream->job_count + stream->bench->new_job_count,
                          sizeof *stream->job_list);
    size_t room = err ? 0 : room_for(stream, batch);
    char *to = err ? NULL : buf_reserve(out, room);
    if (!to) {
        bench_undo(stream);
        return err ? err : buf_err(out);
    }
    struct packer p = { (uint8_t *)to, (uint8_t *)to + room, false };
    write_record(stream, batch, &p);
    out->size += (size_t)(p.at - (uint8_t *)to);
    out->data[out->size] = '\0';
    stream_forget_gone(stream);
    stream_list_jobs(stream);
    return OK;
}
