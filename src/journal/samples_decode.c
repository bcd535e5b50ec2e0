/* Decodes the samples section from arbitrary bytes. While a record is read, the values of its samples hold their
 * changes, which linked values need; at the end they are replaced by the values themselves. */
#include "journal/samples.h"

#include "base/vec.h"

struct sample_decoder {
    struct delta_stream *stream;
    struct bit_reader bits;
    uint64_t run; /* remaining unchanged values of the current run */
    bool has_run, bad;
};

/* Adds samples to out for tracks with consecutive numbers. */
static enum err add_track_run(struct delta_stream *stream, struct unpacker *u, uint64_t *expected, size_t *left,
                              struct batch *out)
{
    uint64_t first = *expected + stream_unzigzag(unpack_number(u)), length = unpack_number(u);
    if (u->bad || length == 0 || length > *left || first >= STREAM_TRACKS_MAX || length > STREAM_TRACKS_MAX - first)
        return CORRUPT;
    for (uint64_t number = first; number < first + length; number++) {
        struct delta_track *track = stream_track_at(stream, number);
        if (!track)
            return CORRUPT;
        if (track->set->size > STREAM_VALUES_MAX - out->values_used)
            return FULL;
        stream->decoded_tracks[out->count] = track;
        struct sample *sample = batch_add(out, track->set, 0, track->instance);
        if (!sample)
            return NOMEM;
        sample->job = track->job;
    }
    *expected = first + length;
    *left -= (size_t)length;
    return OK;
}

static uint64_t read_mantissa(struct sample_decoder *s, unsigned size)
{
    return size > 1 ? bits_get_long(&s->bits, size - 1) | 1ull << (size - 1) : 1;
}

/* Reads the change of a value that is not covered by a run. */
static uint64_t read_change(struct sample_decoder *s, uint8_t *kept, unsigned last, bool *escapes)
{
    uint64_t size = last ? delta_get_rank(&s->bits) : bits_get_golomb(&s->bits, 0) + 1;
    if (last)
        size = size <= SIZE_ESCAPE + 1 ? delta_size_of_rank((unsigned)size, last) : SIZE_ESCAPE + 1;
    *escapes = size == SIZE_ESCAPE;
    if (*escapes)
        size = bits_get_golomb(&s->bits, 0) + 1;
    if (size > 64) {
        s->bad = true;
        return 0;
    }
    samples_keep_size(kept, (unsigned)size);
    return size ? read_mantissa(s, (unsigned)size) : 0;
}

/* Reads the change of a value that is not quiet. Most codes are short enough for the table. */
static inline uint64_t read_active(struct sample_decoder *s, uint8_t *kept, unsigned last, bool *escapes)
{
    bits_fill(&s->bits);
    struct delta_rank_code code = delta_rank_codes[last][s->bits.hold & ((1u << DELTA_RANK_BITS) - 1)];
    if (code.length == 0)
        return read_change(s, kept, last, escapes);
    unsigned is_change = code.size > 0, rest = code.size - is_change;
    bits_skip(&s->bits, code.length);
    samples_keep_size(kept, code.size);
    return bits_get(&s->bits, rest) | (uint64_t)is_change << rest;
}

static inline void load_run(struct sample_decoder *s)
{
    if (s->has_run)
        return;
    s->run = bits_get_golomb(&s->bits, SAMPLES_RUN_ORDER);
    s->has_run = true;
}

static inline uint64_t read_coded(struct sample_decoder *s, uint8_t *kept, bool *escapes)
{
    unsigned last = *kept & ~SIZE_LINKED;
    *escapes = false;
    if (last)
        return read_active(s, kept, last, escapes);
    load_run(s);
    if (s->run) {
        s->run--;
        return 0;
    }
    s->has_run = false;
    return read_change(s, kept, 0, escapes);
}

static inline void read_integer(struct sample_decoder *s, struct delta_track *track, size_t i, union value *delta_out)
{
    bool escapes;
    unsigned unit = track->units[i], is_linked = track->sizes[i] / SIZE_LINKED;
    uint64_t coded = read_coded(s, &track->sizes[i], &escapes), last = track->values[i].u64;
    bool is_plain = (unit & UNIT_IS_COUNTER) > 0 && !is_linked && !escapes;
    uint64_t delta = is_plain ? coded : stream_unzigzag(coded);
    if (!escapes)
        delta = (uint64_t)delta_unit_times((int64_t)delta, unit);
    if (is_linked)
        delta += samples_predict(s->stream, track, i);
    delta_out->u64 = delta;
    track->values[i].u64 = last + delta;
    samples_settle_unit(track, i, last, last + delta, escapes);
}

static void read_real(struct sample_decoder *s, struct delta_track *track, size_t i)
{
    bool escapes;
    unsigned form = track->units[i] & UNIT_MASK;
    uint64_t coded = read_coded(s, &track->sizes[i], &escapes);
    union value *value = &track->values[i];
    int64_t whole;
    if (!coded)
        return;
    if (form == FORM_BITS || escapes) {
        value->u64 ^= coded;
    } else if (delta_form_whole(value->f64, form, &whole)) {
        value->f64 = delta_form_real((int64_t)((uint64_t)whole + stream_unzigzag(coded)), form);
    } else {
        s->bad = true;
    }
    samples_settle_form(track, i, value->f64, escapes);
}

static void read_known(struct sample_decoder *s, struct delta_track *track)
{
    uint8_t kept = 0;
    bool escapes;
    uint64_t changes = read_coded(s, &kept, &escapes);
    s->bad |= changes > 1 || escapes;
    for (size_t from = 0; changes && from < track->set->size; from += 32) {
        size_t count = track->set->size - from < 32 ? track->set->size - from : 32;
        uint64_t bits = bits_get_long(&s->bits, (unsigned)count);
        for (size_t k = 0; k < count; k++)
            track->known[from + k] = bits >> k & 1;
    }
}

static inline void read_value(struct sample_decoder *s, struct delta_track *track, size_t i, union value *deltas)
{
    if (track->units[i] & UNIT_IS_REAL)
        read_real(s, track, i);
    else
        read_integer(s, track, i, &deltas[i]);
}

/* Eight known values: skips from one that is not quiet to the next, over as many quiet ones as the run covers. */
static inline void read_eight(struct sample_decoder *s, struct delta_track *track, size_t from, union value *deltas)
{
    uint64_t sizes, active;
    memcpy(&sizes, track->sizes + from, 8);
    active = (((sizes & 0x7f7f7f7f7f7f7f7full) + 0x7f7f7f7f7f7f7f7full) | sizes) & 0x8080808080808080ull;
    for (size_t i = from, end = from + 8; i < end;) {
        size_t next = active ? from + (size_t)__builtin_ctzll(active) / 8 : end;
        if (i < next) {
            load_run(s);
            if (s->run < next - i) {
                i += s->run;
                s->run = 0;
                read_value(s, track, i++, deltas);
                continue;
            }
            s->run -= next - i;
        }
        if (next < end)
            read_value(s, track, next, deltas);
        active &= active - 1;
        i = next + 1;
    }
}

static void read_values(struct sample_decoder *s, struct delta_track *track, union value *deltas)
{
    size_t size = track->set->size, i = 0;
    for (; i + 8 <= size && !s->bad; i += 8) {
        uint64_t known;
        memcpy(&known, track->known + i, 8);
        if (known == SAMPLES_EIGHT_KNOWN) {
            read_eight(s, track, i, deltas);
            continue;
        }
        for (size_t k = i; k < i + 8; k++)
            if (track->known[k])
                read_value(s, track, k, deltas);
    }
    for (; i < size && !s->bad; i++)
        if (track->known[i])
            read_value(s, track, i, deltas);
}

/* Replaces changes by values; unknown ones are 0. */
static void copy_values(const struct delta_track *track, struct sample *sample)
{
    size_t size = track->set->size;
    union value *values = (union value *)sample->values;
    if (!size)
        return;
    memcpy((uint8_t *)sample->known, track->known, size);
    memcpy(values, track->values, size * sizeof *values);
    if (memchr(track->known, 0, size))
        for (size_t i = 0; i < size; i++)
            if (!track->known[i])
                values[i].u64 = 0;
}

static void read_sample(struct sample_decoder *s, struct delta_track *track, const struct delta_track *before,
                        uint64_t before_last_ns, struct sample *sample)
{
    bool escapes;
    uint64_t expected_ns = samples_expected_ns(s->stream, track, before, before_last_ns);
    uint64_t time_ns = expected_ns + stream_unzigzag(read_coded(s, &track->time_size, &escapes));
    s->bad |= escapes;
    samples_move_time(s->stream, track, !before, time_ns);
    sample->time_ns = time_ns;
    track->deltas = sample->values;
    read_known(s, track);
    read_values(s, track, (union value *)sample->values);
}

static bool read_samples(struct sample_decoder *s, struct batch *out)
{
    const struct delta_track *before = NULL;
    uint64_t before_last_ns = 0;
    for (size_t i = 0; i < out->count && !s->bad; i++) {
        struct delta_track *track = s->stream->decoded_tracks[i];
        uint64_t last_ns = track->time_ns;
        if (track->epoch == s->stream->epoch) /* its second sample in this record: finish the first */
            copy_values(track, &out->samples[track->sample]);
        track->epoch = s->stream->epoch;
        track->sample = (uint32_t)i;
        read_sample(s, track, before, before_last_ns, &out->samples[i]);
        s->bad |= s->bits.past > 8;
        before = track;
        before_last_ns = last_ns;
    }
    return !s->bad && !(s->has_run && s->run);
}

enum err samples_decode(struct delta_stream *stream, struct unpacker *u, struct batch *out)
{
    uint64_t expected = 0, count = unpack_number(u);
    if (u->bad || count == 0 || count > STREAM_SAMPLES_MAX)
        return CORRUPT;
    enum err err = array_reserve_zeroed(stream->decoded_tracks, stream->decoded_capacity, (size_t)count, VEC_MAX);
    for (size_t left = (size_t)count; left && !err;)
        err = add_track_run(stream, u, &expected, &left, out);
    if (err)
        return err;
    struct sample_decoder s = { .stream = stream, .bits = { .at = u->at, .end = u->end } };
    stream->epoch++;
    if (!read_samples(&s, out) || !bits_get_end(&s.bits, &u->at))
        return CORRUPT;
    for (size_t i = 0; i < out->count; i++)
        if (stream->decoded_tracks[i]->sample == i)
            copy_values(stream->decoded_tracks[i], &out->samples[i]);
    return OK;
}
