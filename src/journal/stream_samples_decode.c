/* Samples out of bits that may be anything. While a record is read, the values of its samples hold by how much they changed,
 * since linked values want to know; what they are is copied in the end. */
#include "journal/stream_samples.h"

struct state {
    struct stream *stream;
    struct bit_reader bits;
    uint64_t run; /* quiet values that stand still until the next that does not */
    bool has_run, bad;
};

/* Room in out for the samples of tracks whose numbers follow one another. */
static enum err hear_run(struct stream *stream, struct unpacker *u, uint64_t *expected, size_t *left, struct batch *out)
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
        stream->heard[out->count] = track;
        struct sample *sample = batch_add(out, track->set, 0, track->instance);
        if (!sample)
            return NOMEM;
        sample->job = track->job;
    }
    *expected = first + length;
    *left -= (size_t)length;
    return OK;
}

static uint64_t hear_mantissa(struct state *s, unsigned size)
{
    return size > 1 ? bits_get_long(&s->bits, size - 1) | 1ull << (size - 1) : 1;
}

/* Of a value that does not stand still, or is not quiet. */
static uint64_t hear_change(struct state *s, uint8_t *kept, unsigned last, bool *escapes)
{
    uint64_t size = last ? rank_get(&s->bits) : bits_get_golomb(&s->bits, 0) + 1;
    if (last)
        size = size <= SIZE_ESCAPE + 1 ? size_of_rank((unsigned)size, last) : SIZE_ESCAPE + 1;
    *escapes = size == SIZE_ESCAPE;
    if (*escapes)
        size = bits_get_golomb(&s->bits, 0) + 1;
    if (size > 64) {
        s->bad = true;
        return 0;
    }
    samples_keep_size(kept, (unsigned)size);
    return size ? hear_mantissa(s, (unsigned)size) : 0;
}

/* Of a value that is not quiet. Most codes are short. */
static inline uint64_t hear_lively(struct state *s, uint8_t *kept, unsigned last, bool *escapes)
{
    bits_fill(&s->bits);
    struct rank_code code = rank_codes[last][s->bits.hold & ((1u << RANK_BITS) - 1)];
    if (code.length == 0)
        return hear_change(s, kept, last, escapes);
    unsigned is_change = code.size > 0, rest = code.size - is_change;
    bits_skip(&s->bits, code.length);
    samples_keep_size(kept, code.size);
    return bits_get(&s->bits, rest) | (uint64_t)is_change << rest;
}

static inline void need_run(struct state *s)
{
    if (s->has_run)
        return;
    s->run = bits_get_golomb(&s->bits, SAMPLES_RUN_ORDER);
    s->has_run = true;
}

static inline uint64_t hear(struct state *s, uint8_t *kept, bool *escapes)
{
    unsigned last = *kept & ~SIZE_LINKED;
    *escapes = false;
    if (last)
        return hear_lively(s, kept, last, escapes);
    need_run(s);
    if (s->run) {
        s->run--;
        return 0;
    }
    s->has_run = false;
    return hear_change(s, kept, 0, escapes);
}

static inline void hear_whole(struct state *s, struct track *track, size_t i, union value *delta_out)
{
    bool escapes;
    unsigned unit = track->units[i], is_linked = track->sizes[i] / SIZE_LINKED;
    uint64_t residual = hear(s, &track->sizes[i], &escapes), last = track->values[i].u64;
    bool is_plain = (unit & UNIT_IS_COUNTER) > 0 && !is_linked && !escapes;
    uint64_t delta = is_plain ? residual : stream_unzigzag(residual);
    if (!escapes)
        delta = (uint64_t)unit_times((int64_t)delta, unit);
    if (is_linked)
        delta += samples_predict(s->stream, track, i);
    delta_out->u64 = delta;
    track->values[i].u64 = last + delta;
    samples_settle_unit(track, i, last, last + delta, escapes);
}

static void hear_real(struct state *s, struct track *track, size_t i)
{
    bool escapes;
    unsigned form = track->units[i] & UNIT_MASK;
    uint64_t residual = hear(s, &track->sizes[i], &escapes);
    union value *value = &track->values[i];
    int64_t whole;
    if (!residual)
        return;
    if (form == FORM_BITS || escapes) {
        value->u64 ^= residual;
    } else if (form_whole(value->f64, form, &whole)) {
        value->f64 = form_real((int64_t)((uint64_t)whole + stream_unzigzag(residual)), form);
    } else {
        s->bad = true;
    }
    samples_settle_form(track, i, value->f64, escapes);
}

static void hear_known(struct state *s, struct track *track)
{
    uint8_t kept = 0;
    bool escapes;
    uint64_t changes = hear(s, &kept, &escapes);
    s->bad |= changes > 1 || escapes;
    for (size_t from = 0; changes && from < track->set->size; from += 32) {
        size_t count = track->set->size - from < 32 ? track->set->size - from : 32;
        uint64_t bits = bits_get_long(&s->bits, (unsigned)count);
        for (size_t k = 0; k < count; k++)
            track->known[from + k] = bits >> k & 1;
    }
}

static inline void hear_one(struct state *s, struct track *track, size_t i, union value *deltas)
{
    if (track->units[i] & UNIT_IS_REAL)
        hear_real(s, track, i);
    else
        hear_whole(s, track, i, &deltas[i]);
}

/* Eight that are known: from one that is not quiet to the next, over as many quiet ones as the run allows. */
static inline void hear_eight(struct state *s, struct track *track, size_t from, union value *deltas)
{
    uint64_t sizes, lively;
    memcpy(&sizes, track->sizes + from, 8);
    lively = (((sizes & 0x7f7f7f7f7f7f7f7full) + 0x7f7f7f7f7f7f7f7full) | sizes) & 0x8080808080808080ull;
    for (size_t i = from, end = from + 8; i < end;) {
        size_t next = lively ? from + (size_t)__builtin_ctzll(lively) / 8 : end;
        if (i < next) {
            need_run(s);
            if (s->run < next - i) {
                i += s->run;
                s->run = 0;
                hear_one(s, track, i++, deltas);
                continue;
            }
            s->run -= next - i;
        }
        if (next < end)
            hear_one(s, track, next, deltas);
        lively &= lively - 1;
        i = next + 1;
    }
}

static void hear_values(struct state *s, struct track *track, union value *deltas)
{
    size_t size = track->set->size, i = 0;
    for (; i + 8 <= size && !s->bad; i += 8) {
        uint64_t known;
        memcpy(&known, track->known + i, 8);
        if (known == SAMPLES_EIGHT_KNOWN) {
            hear_eight(s, track, i, deltas);
            continue;
        }
        for (size_t k = i; k < i + 8; k++)
            if (track->known[k])
                hear_one(s, track, k, deltas);
    }
    for (; i < size && !s->bad; i++)
        if (track->known[i])
            hear_one(s, track, i, deltas);
}

/* From changes to values; what is not known is 0. */
static void give_values(const struct track *track, struct sample *sample)
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

static void hear_sample(struct state *s, struct track *track, const struct track *before, uint64_t before_last_ns,
                        struct sample *sample)
{
    bool escapes;
    uint64_t expected_ns = samples_expected_ns(s->stream, track, before, before_last_ns);
    uint64_t time_ns = expected_ns + stream_unzigzag(hear(s, &track->time_size, &escapes));
    s->bad |= escapes;
    samples_move_time(s->stream, track, !before, time_ns);
    sample->time_ns = time_ns;
    track->deltas = sample->values;
    hear_known(s, track);
    hear_values(s, track, (union value *)sample->values);
}

static bool hear_samples(struct state *s, struct batch *out)
{
    const struct track *before = NULL;
    uint64_t before_last_ns = 0;
    for (size_t i = 0; i < out->count && !s->bad; i++) {
        struct track *track = s->stream->heard[i];
        uint64_t last_ns = track->time_ns;
        if (track->epoch == s->stream->epoch) /* for the second time: the first ends here */
            give_values(track, &out->samples[track->sample]);
        track->epoch = s->stream->epoch;
        track->sample = (uint32_t)i;
        hear_sample(s, track, before, before_last_ns, &out->samples[i]);
        s->bad |= s->bits.past > 8;
        before = track;
        before_last_ns = last_ns;
    }
    return !s->bad && !(s->has_run && s->run);
}

enum err samples_decode(struct stream *stream, struct unpacker *u, struct batch *out)
{
    uint64_t expected = 0, count = unpack_number(u);
    if (u->bad || count == 0 || count > STREAM_SAMPLES_MAX)
        return CORRUPT;
    enum err err = stream_grow(&stream->heard, &stream->heard_room, (size_t)count, sizeof *stream->heard);
    for (size_t left = (size_t)count; left && !err;)
        err = hear_run(stream, u, &expected, &left, out);
    if (err)
        return err;
    struct state s = { .stream = stream, .bits = { .at = u->at, .end = u->end } };
    stream->epoch++;
    if (!hear_samples(&s, out) || !bits_get_end(&s.bits, &u->at))
        return CORRUPT;
    for (size_t i = 0; i < out->count; i++)
        if (stream->heard[i]->sample == i)
            give_values(stream->heard[i], &out->samples[i]);
    return OK;
}
