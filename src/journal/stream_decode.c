/* Decodes a record, which may be arbitrary bytes, into a batch. */
#include "journal/describe.h"
#include "base/vec.h"
#include "journal/samples.h"

static uint64_t read_count(struct unpacker *u, uint64_t max)
{
    uint64_t count = unpack_number(u);
    if (count == 0 || count > max)
        u->bad = true;
    return u->bad ? 0 : count;
}

static enum err read_new(struct delta_stream *stream, struct unpacker *u, unsigned sections)
{
    struct delta_track *track;
    enum err err = OK;
    uint64_t sets = sections & STREAM_HAS_SETS ? read_count(u, STREAM_SETS_MAX) : 0;
    for (uint64_t i = 0; i < sets && !err; i++)
        err = describe_read_set(u, stream);
    uint64_t tracks = !err && sections & STREAM_HAS_TRACKS ? read_count(u, STREAM_TRACKS_MAX) : 0;
    for (uint64_t i = 0; i < tracks && !err; i++)
        err = describe_read_track(u, stream, &track);
    uint64_t jobs = !err && sections & STREAM_HAS_JOBS ? read_count(u, STREAM_JOBS_MAX) : 0;
    for (uint64_t i = 0; i < jobs && !err; i++)
        err = describe_read_job(u, stream);
    return !err && u->bad ? CORRUPT : err;
}

static enum err read_events(struct delta_stream *stream, struct unpacker *u, struct batch *out)
{
    uint64_t count = read_count(u, STREAM_GAPS_MAX);
    enum err err = array_reserve_zeroed(stream->events, stream->event_capacity, (size_t)count, VEC_MAX);
    if (err)
        return err;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t event = unpack_number(u), number = event >> 2;
        if (u->bad || (event & 3) > JOB_END || number >= stream->job_count || !stream->jobs[number])
            return CORRUPT;
        stream->events[i] = (struct batch_event){ (enum job_event)(event & 3), &stream->jobs[number]->job };
    }
    out->events = stream->events;
    out->event_count = (size_t)count;
    return u->bad ? CORRUPT : OK;
}

/* All reasons go into one buffer, which may be reallocated until the last one is appended. */
static enum err read_gaps(struct delta_stream *stream, struct unpacker *u, struct batch *out)
{
    uint64_t count = read_count(u, STREAM_GAPS_MAX);
    enum err err = array_reserve_zeroed(stream->gaps, stream->gap_capacity, (size_t)count, VEC_MAX);
    if (err)
        return err;
    buf_reset(&stream->strings);
    for (uint64_t i = 0; i < count; i++) {
        struct batch_gap *gap = &stream->gaps[i];
        gap->from_ns = unpack_number(u);
        gap->to_ns = gap->from_ns + stream_unzigzag(unpack_number(u));
        gap->batches = unpack_number(u);
        struct bytes reason = unpack_text(u);
        if (u->bad || reason.size > STREAM_STRING_MAX || (reason.size && memchr(reason.data, '\0', reason.size)))
            return CORRUPT;
        buf_add(&stream->strings, reason.data, reason.size);
        buf_add_char(&stream->strings, '\0');
    }
    const char *reason = buf_text(&stream->strings);
    for (uint64_t i = 0; i < count && !stream->strings.failed; i++) {
        stream->gaps[i].reason = reason;
        reason += strlen(reason) + 1;
    }
    out->gaps = stream->gaps;
    out->gap_count = (size_t)count;
    return u->bad ? CORRUPT : buf_err(&stream->strings);
}

static enum err drop_tracks(struct delta_stream *stream, struct unpacker *u)
{
    for (uint64_t left = unpack_number(u); left && !u->bad; left--) {
        struct delta_track *track = stream_track_at(stream, unpack_number(u));
        if (u->bad || !track)
            return CORRUPT;
        stream_drop_track(stream, track);
    }
    return u->bad ? CORRUPT : OK;
}

static enum err drop_sets(struct delta_stream *stream, struct unpacker *u)
{
    for (uint64_t left = unpack_number(u); left && !u->bad; left--) {
        uint64_t number = unpack_number(u);
        if (u->bad || number >= stream->set_count || !stream->sets[number].set || stream->sets[number].first)
            return CORRUPT;
        stream_drop_set(stream, (uint32_t)number);
    }
    return u->bad ? CORRUPT : OK;
}

static enum err drop_jobs(struct delta_stream *stream, struct unpacker *u)
{
    for (uint64_t left = unpack_number(u); left && !u->bad; left--) {
        uint64_t number = unpack_number(u);
        if (u->bad || number >= stream->job_count || !stream->jobs[number])
            return CORRUPT;
        stream_drop_job(stream, (uint32_t)number);
    }
    return u->bad ? CORRUPT : OK;
}

/* Links are applied after tracks are dropped; a link of a dropped track is ignored. */
static enum err change_links(struct delta_stream *stream, struct unpacker *u)
{
    for (uint64_t left = unpack_number(u); left && !u->bad; left--) {
        uint64_t number = unpack_number(u), value = unpack_number(u), link = unpack_number(u);
        struct delta_track *track = stream_track_at(stream, number);
        if (u->bad || link > UINT16_MAX + 1ull)
            return CORRUPT;
        if (track && value >= track->set->size)
            return CORRUPT;
        if (track)
            stream_set_link(track, (size_t)value, (uint16_t)(link - 1), link > 0);
    }
    return u->bad ? CORRUPT : OK;
}

/* Applied last: a job that ended is still part of the batch that reports it, and a dropped track has its last sample. */
static enum err read_changes(struct delta_stream *stream, struct unpacker *u)
{
    enum err err = drop_tracks(stream, u);
    if (!err)
        err = drop_sets(stream, u);
    if (!err)
        err = drop_jobs(stream, u);
    return err ? err : change_links(stream, u);
}

/* The current jobs, followed (for this batch only) by those that were just dropped and that an event refers to. */
static enum err list_batch_jobs(struct delta_stream *stream, struct batch *out)
{
    size_t gone = 0;
    for (const struct stream_job *job = stream->dropped_jobs; job; job = job->next)
        gone++;
    enum err err = array_reserve_zeroed(stream->job_list, stream->job_list_capacity, stream->job_count + gone, VEC_MAX);
    if (err)
        return err;
    stream_list_jobs(stream);
    out->job_count = stream->job_list_count;
    for (const struct stream_job *job = stream->dropped_jobs; job; job = job->next) {
        bool has_event = false;
        for (size_t i = 0; i < out->event_count && !has_event; i++)
            has_event = out->events[i].job == &job->job;
        if (has_event)
            stream->job_list[out->job_count++] = &job->job;
    }
    out->jobs = stream->job_list;
    return OK;
}

static void reset_batch(struct batch *out)
{
    struct batch kept = *out;
    batch_reset(out);
    out->stream = kept.stream;
    out->sequence = kept.sequence;
    out->position = kept.position;
}

static enum err decode_piece(struct delta_stream *stream, struct unpacker *u, struct batch *out)
{
    struct batch_piece *piece = &stream->piece;
    u->at++;
    struct bytes name = unpack_text(u);
    uint64_t uid = unpack_number(u);
    *piece = (struct batch_piece){ .uid = (uint32_t)uid, .offset = unpack_number(u), .total = unpack_number(u) };
    piece->data = unpack_text(u);
    struct bytes user = u->at == u->end ? (struct bytes){ 0 } : unpack_text(u); /* version 0.1 sent none */
    bool fits = piece->offset <= piece->total && piece->data.size <= piece->total - piece->offset;
    if (u->bad || u->at != u->end || !fits || uid > UINT32_MAX || !name.size || memchr(name.data, 0, name.size)
        || (user.size && memchr(user.data, 0, user.size)))
        return CORRUPT;
    if (name.size > STREAM_STRING_MAX || user.size > STREAM_STRING_MAX || piece->data.size > STREAM_PIECE_MAX)
        return FULL;
    buf_reset(&stream->strings);
    buf_add(&stream->strings, name.data, name.size);
    buf_add_char(&stream->strings, '\0');
    buf_add(&stream->strings, user.data, user.size);
    if (buf_err(&stream->strings))
        return buf_err(&stream->strings);
    piece->name = buf_text(&stream->strings);
    piece->user = piece->name + name.size + 1;
    out->piece = piece;
    return OK;
}

enum err stream_decode(struct delta_stream *stream, struct bytes record, struct batch *out)
{
    struct unpacker u = { (const uint8_t *)record.data, (const uint8_t *)record.data + record.size, false };
    stream_free_dropped(stream);
    if (stream->encoder)
        encoder_reset(stream->encoder);
    reset_batch(out);
    if (record.size == 0 || record.size > STREAM_RECORD_MAX)
        return CORRUPT;
    if (*u.at & STREAM_IS_OTHER)
        return *u.at == STREAM_IS_PIECE ? decode_piece(stream, &u, out) : CORRUPT;
    unsigned sections = *u.at++;
    enum err err = read_new(stream, &u, sections);
    if (!err && sections & STREAM_HAS_EVENTS)
        err = read_events(stream, &u, out);
    if (!err && sections & STREAM_HAS_GAPS)
        err = read_gaps(stream, &u, out);
    if (!err && sections & STREAM_HAS_SAMPLES)
        err = samples_decode(stream, &u, out);
    if (!err && sections & STREAM_HAS_CHANGES)
        err = read_changes(stream, &u);
    if (!err && u.at != u.end)
        err = CORRUPT;
    if (!err)
        err = list_batch_jobs(stream, out);
    if (err)
        reset_batch(out);
    return err;
}
