/* Samples: runs of track numbers that follow one another, then for each its time and its values as differences to the last. */
#include "wire/stream_samples.h"

size_t samples_room(size_t samples, size_t values)
{
    return 64 + samples * (3 * PACK_NUMBER_MAX + 1) + values * PACK_NUMBER_MAX + values / 8 + samples;
}

static size_t run_length(struct track *const *tracks, size_t count)
{
    size_t length = 1;
    while (length < count && tracks[length]->number == tracks[0]->number + length)
        length++;
    return length;
}

static void encode_runs(struct track *const *tracks, size_t count, struct packer *p)
{
    uint64_t expected = 0;
    pack_number(p, count);
    for (size_t i = 0; i < count;) {
        size_t length = run_length(tracks + i, count - i);
        pack_number(p, stream_zigzag(tracks[i]->number - expected));
        pack_number(p, length);
        expected = tracks[i]->number + length;
        i += length;
    }
}

static bool known_changes(const struct track *track, const struct sample *sample)
{
    for (size_t i = 0; i < track->set->size; i++)
        if (track->known[i] != (!sample->known || sample->known[i]))
            return true;
    return false;
}

static void encode_known(struct track *track, const struct sample *sample, struct packer *p)
{
    for (size_t i = 0; i < track->set->size; i += 8) {
        unsigned bits = 0;
        for (size_t k = i; k < i + 8 && k < track->set->size; k++) {
            track->known[k] = !sample->known || sample->known[k];
            bits |= (unsigned)track->known[k] << (k - i);
        }
        *p->at++ = (uint8_t)bits;
    }
}

static void encode_sample(struct track *track, const struct sample *sample, struct packer *p)
{
    bool changes = known_changes(track, sample);
    *p->at++ = changes;
    if (changes)
        encode_known(track, sample, p);
    for (size_t i = 0; i < track->set->size; i++) {
        if (!track->known[i])
            continue;
        uint64_t last = track->values[i].u64, now = sample->values[i].u64;
        pack_number(p, track->set->metrics[i].type == F64 ? last ^ now : stream_zigzag(now - last));
        track->values[i].u64 = now;
    }
}

/* The first is expected one step behind that of the last record, the others as far behind the one before as last time. */
static uint64_t expected_ns(const struct stream *stream, const struct track *track, const struct track *before,
                            uint64_t before_last_ns)
{
    return before ? before->time_ns + (track->time_ns - before_last_ns) : stream->time_ns + stream->step_ns;
}

static void move_time(struct stream *stream, struct track *track, bool is_first, uint64_t time_ns)
{
    track->time_ns = time_ns;
    if (time_ns > stream->newest_ns)
        stream->newest_ns = time_ns;
    if (!is_first)
        return;
    stream->step_ns = stream->time_ns ? time_ns - stream->time_ns : 0;
    stream->time_ns = time_ns;
}

void samples_encode(struct stream *stream, const struct batch *batch, struct track *const *tracks, struct packer *p)
{
    const struct track *before = NULL;
    uint64_t before_last_ns = 0;
    encode_runs(tracks, batch->count, p);
    for (size_t i = 0; i < batch->count; i++) {
        struct track *track = tracks[i];
        uint64_t time_ns = batch->samples[i].time_ns, last_ns = track->time_ns;
        pack_number(p, stream_zigzag(time_ns - expected_ns(stream, track, before, before_last_ns)));
        move_time(stream, track, !before, time_ns);
        before = track;
        before_last_ns = last_ns;
        encode_sample(track, &batch->samples[i], p);
    }
}

static void decode_known(struct track *track, struct unpacker *u)
{
    size_t size = (track->set->size + 7) / 8;
    if ((size_t)(u->end - u->at) < size) {
        u->bad = true;
        return;
    }
    for (size_t i = 0; i < track->set->size; i++)
        track->known[i] = u->at[i / 8] >> i % 8 & 1;
    u->at += size;
}

static void decode_values(struct track *track, struct unpacker *u, struct sample *sample)
{
    uint64_t changes = unpack_number(u);
    if (changes > 1)
        u->bad = true;
    else if (changes)
        decode_known(track, u);
    for (size_t i = 0; i < track->set->size && !u->bad; i++) {
        if (!track->known[i])
            continue;
        uint64_t difference = unpack_number(u), last = track->values[i].u64;
        track->values[i].u64 = track->set->metrics[i].type == F64 ? last ^ difference : last + stream_unzigzag(difference);
        sample_set_u64(sample, i, track->values[i].u64);
    }
}

static enum err decode_run(struct stream *stream, struct unpacker *u, uint64_t *expected, size_t *left, struct batch *out)
{
    uint64_t first = *expected + stream_unzigzag(unpack_number(u)), length = unpack_number(u);
    if (u->bad || length == 0 || length > *left || first >= STREAM_TRACKS_MAX || length > STREAM_TRACKS_MAX - first)
        return CORRUPT;
    for (uint64_t number = first; number < first + length; number++) {
        struct track *track = stream_track_at(stream, number);
        if (!track)
            return CORRUPT;
        if (track->set->size > STREAM_VALUES_MAX - out->values_used)
            return FULL;
        struct sample *sample = batch_add(out, track->set, number, track->instance);
        if (!sample)
            return NOMEM;
        sample->job = track->job;
    }
    *expected = first + length;
    *left -= (size_t)length;
    return OK;
}

static void decode_sample(struct stream *stream, struct unpacker *u, struct track *track, const struct track *before,
                          uint64_t before_last_ns, struct sample *sample)
{
    uint64_t time_ns = expected_ns(stream, track, before, before_last_ns) + stream_unzigzag(unpack_number(u));
    move_time(stream, track, !before, time_ns);
    sample->time_ns = time_ns;
    decode_values(track, u, sample);
}

enum err samples_decode(struct stream *stream, struct unpacker *u, struct batch *out)
{
    const struct track *before = NULL;
    uint64_t before_last_ns = 0, expected = 0, count = unpack_number(u);
    if (u->bad || count == 0 || count > STREAM_SAMPLES_MAX)
        return CORRUPT;
    for (size_t left = (size_t)count; left;) {
        enum err err = decode_run(stream, u, &expected, &left, out);
        if (err)
            return err;
    }
    for (size_t i = 0; i < out->count && !u->bad; i++) {
        struct sample *sample = &out->samples[i];
        struct track *track = stream->tracks[sample->time_ns]; /* where decode_run put its number */
        uint64_t last_ns = track->time_ns;
        decode_sample(stream, u, track, before, before_last_ns, sample);
        before = track;
        before_last_ns = last_ns;
    }
    return u->bad ? CORRUPT : OK;
}
