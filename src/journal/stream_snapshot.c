/* Snapshots: all sets, tracks and jobs under their numbers, with the newest values. */
#include "journal/delta.h"
#include "base/vec.h"
#include "journal/describe.h"

#define SNAPSHOT_FORMAT 1

static size_t snapshot_size_max(const struct delta_stream *stream)
{
    return 128 + stream->weight + stream->values * (PACK_NUMBER_MAX + 6)
        + (size_t)stream->track_count * 2 * PACK_NUMBER_MAX;
}

/* Per value: one number with known, unit, linked and last size; the link, if any; the value. */
static void write_values(struct packer *p, const struct delta_track *track)
{
    pack_number(p, track->time_ns);
    pack_number(p, track->time_size);
    for (size_t i = 0; i < track->set->size; i++) {
        uint64_t linked = track->sizes[i] >= SIZE_LINKED, size = track->sizes[i] & (SIZE_LINKED - 1);
        pack_number(p, track->known[i] | (uint64_t)(track->units[i] & UNIT_MASK) << 1 | linked << 4 | size << 5);
        if (linked)
            pack_number(p, track->links[i]);
        pack_number(p, track->values[i].u64);
    }
}

/* Caches the compressed form in the stream's set; nothing else changes. */
static void write_sets(struct packer *p, const struct delta_stream *stream)
{
    size_t count = 0;
    for (uint32_t i = 0; i < stream->set_count; i++)
        count += stream->sets[i].set != NULL;
    pack_number(p, count);
    for (uint32_t i = 0; i < stream->set_count; i++)
        if (stream->sets[i].set)
            describe_set_shared(p, i, &stream->sets[i]);
}

static void write_tracks(struct packer *p, const struct delta_stream *stream)
{
    size_t count = 0;
    for (uint32_t i = 0; i < stream->track_count; i++)
        count += stream->tracks[i] != NULL;
    pack_number(p, count);
    for (uint32_t i = 0; i < stream->track_count; i++)
        if (stream->tracks[i]) {
            describe_track(p, stream->tracks[i]);
            write_values(p, stream->tracks[i]);
        }
}

static void write_jobs(struct packer *p, const struct delta_stream *stream)
{
    size_t count = 0;
    for (uint32_t i = 0; i < stream->job_count; i++)
        count += stream->jobs[i] != NULL;
    pack_number(p, count);
    for (uint32_t i = 0; i < stream->job_count; i++)
        if (stream->jobs[i])
            describe_job(p, i, &stream->jobs[i]->job);
}

void stream_snapshot(const struct delta_stream *stream, struct buf *out)
{
    size_t capacity = snapshot_size_max(stream);
    char *to = buf_reserve(out, capacity);
    if (!to)
        return;
    struct packer p = { (uint8_t *)to, (uint8_t *)to + capacity, false };
    *p.at++ = SNAPSHOT_FORMAT;
    pack_number(&p, stream->time_ns);
    pack_number(&p, stream->step_ns);
    pack_number(&p, stream->newest_ns);
    write_sets(&p, stream);
    write_tracks(&p, stream);
    write_jobs(&p, stream);
    out->size += (size_t)(p.at - (uint8_t *)to);
    out->data[out->size] = '\0';
}

static void read_value(struct unpacker *u, struct delta_track *track, size_t i)
{
    uint64_t state = unpack_number(u), size = state >> 5, is_linked = state >> 4 & 1;
    uint64_t link = is_linked ? unpack_number(u) : 0;
    track->known[i] = state & 1;
    track->units[i] |= state >> 1 & UNIT_MASK;
    track->sizes[i] = (uint8_t)((size & SIZE_CLIP) | (is_linked ? SIZE_LINKED : 0));
    track->links[i] = (uint16_t)link;
    track->values[i].u64 = unpack_number(u);
    u->bad |= size > SIZE_CLIP || link > UINT16_MAX || (track->units[i] & UNIT_IS_REAL && (state >> 1 & UNIT_MASK) >= FORMS);
}

static enum err read_track(struct unpacker *u, struct delta_stream *stream)
{
    struct delta_track *track;
    enum err err = describe_read_track(u, stream, &track);
    if (err)
        return err;
    uint64_t time_ns = unpack_number(u), time_size = unpack_number(u);
    if (u->bad || time_size > SIZE_CLIP)
        return CORRUPT;
    track->time_ns = time_ns;
    track->time_size = (uint8_t)time_size;
    for (size_t i = 0; i < track->set->size && !u->bad; i++)
        read_value(u, track, i);
    return u->bad ? CORRUPT : OK;
}

static enum err read_all(struct unpacker *u, struct delta_stream *stream)
{
    enum err err = OK;
    stream->time_ns = unpack_number(u);
    stream->step_ns = unpack_number(u);
    stream->newest_ns = unpack_number(u);
    for (uint64_t left = unpack_number(u); left && !err; left--)
        err = u->bad ? CORRUPT : describe_read_set_shared(u, stream);
    for (uint64_t left = err ? 0 : unpack_number(u); left && !err; left--)
        err = u->bad ? CORRUPT : read_track(u, stream);
    for (uint64_t left = err ? 0 : unpack_number(u); left && !err; left--)
        err = u->bad ? CORRUPT : describe_read_job(u, stream);
    if (err)
        return err;
    return u->bad || u->at != u->end ? CORRUPT : OK;
}

enum err stream_restore(struct delta_stream *stream, struct bytes snapshot)
{
    struct unpacker u = { (const uint8_t *)snapshot.data, (const uint8_t *)snapshot.data + snapshot.size, false };
    stream_clear(stream);
    if (snapshot.size == 0 || snapshot.size > STREAM_RECORD_MAX || *u.at++ != SNAPSHOT_FORMAT)
        return CORRUPT;
    enum err err = read_all(&u, stream);
    if (!err)
        err = array_reserve_zeroed(stream->job_list, stream->job_list_capacity, stream->job_count, VEC_MAX);
    if (err) {
        stream_clear(stream);
        return err;
    }
    stream_list_jobs(stream);
    return OK;
}
