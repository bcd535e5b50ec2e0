/* Encodes the samples section in two passes, because the length of a run of unchanged values is known only at its end.
 * The first pass codes the difference of each value from its prediction as an item of a list, the
 * second writes the list. */
#include "journal/samples.h"

#define LINK_EVERY 4    /* records between two searches for links */
#define LINK_SCORE 3    /* searches that must agree */
#define LINK_MISSES 12    /* misses after which a link is removed */
#define LINK_STEPS 8    /* smaller changes are too often equal by chance */
#define ITEM_NONE SIZE_MAX

size_t samples_size_max(size_t samples, size_t values)
{
    return 64 + BITS_SLACK + samples * (2 * PACK_NUMBER_MAX + 24) + values * 14 + values / 8;
}

static size_t run_length(struct delta_track *const *tracks, size_t count)
{
    size_t length = 1;
    while (length < count && tracks[length]->number == tracks[0]->number + length)
        length++;
    return length;
}

static void encode_runs(struct delta_track *const *tracks, size_t count, struct packer *p)
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

static inline void add_item(struct encoder_state *encoder, uint64_t bits, unsigned size, unsigned last,
                            enum encoder_item_kind kind)
{
    encoder->items[encoder->item_count++] = (struct encoder_item){ bits, (uint8_t)size, (uint8_t)last, (uint8_t)kind };
}

/* Unchanged quiet values extend the current run. */
static inline void extend_run(struct encoder_state *encoder, size_t count)
{
    if (encoder->open_run == ITEM_NONE) {
        encoder->open_run = encoder->item_count;
        add_item(encoder, 0, 0, 0, ITEM_RUN);
    }
    encoder->items[encoder->open_run].bits += count;
}

static inline void add_coded(struct encoder_state *encoder, uint8_t *kept, uint64_t coded, bool escapes)
{
    unsigned last = *kept & ~SIZE_LINKED, size = bits_size(coded);
    if (last == 0) {
        extend_run(encoder, coded == 0);
        if (coded == 0)
            return;
        encoder->open_run = ITEM_NONE;
    }
    if (escapes) {
        add_item(encoder, 0, SIZE_ESCAPE, last, ITEM_VALUE);
        last = 0;
    }
    add_item(encoder, coded, size, last, ITEM_VALUE);
    samples_keep_size(kept, size);
}

/* Stores each larger change in a hash table by its steps and checks whether another value changed by the same amount. */
static void guess_link(struct delta_stream *stream, const struct delta_track *track, size_t i, int64_t steps)
{
    struct encoder_state *encoder = stream->encoder;
    struct link_guess *guess = &track->link_guesses[i];
    if (steps > -LINK_STEPS && steps < LINK_STEPS)
        return;
    struct encoder_change *change = &encoder->changes[((uint64_t)steps * 0x9e3779b97f4a7c15ull) >> (64 - ENCODER_CHANGES_BITS)];
    if (change->record != encoder->record || change->steps != steps) {
        if (change->record != encoder->record)
            *change = (struct encoder_change){ encoder->record, steps, track->number, (uint32_t)i };
        guess->score -= guess->score > 0;
        return;
    }
    if (track->sizes[i] & SIZE_LINKED || change->track > track->number || track->number - change->track >= STREAM_LINK_TRACKS
        || (change->track == track->number && change->value >= i))
        return;
    uint16_t link = STREAM_LINK(track->number - change->track, change->value);
    guess->score = guess->link == link ? (uint8_t)(guess->score + 1) : 1;
    guess->link = link;
    if (guess->score >= LINK_SCORE && encoder->link_count < ENCODER_LINKS_MAX)
        encoder->new_links[encoder->link_count++] = (struct encoder_link){ track->number, (uint16_t)i, link, true };
}

/* Removes a link whose predictions are worse than none too often. */
static void judge_link(struct encoder_state *encoder, const struct delta_track *track, size_t i, uint64_t delta, uint64_t rest)
{
    struct link_guess *guess = &track->link_guesses[i];
    if (rest == 0) {
        guess->misses -= guess->misses > 0;
        return;
    }
    if (bits_size(stream_zigzag(rest)) <= bits_size(stream_zigzag(delta)) || ++guess->misses < LINK_MISSES
        || encoder->link_count >= ENCODER_LINKS_MAX)
        return;
    guess->misses = guess->score = 0;
    encoder->new_links[encoder->link_count++] = (struct encoder_link){ track->number, (uint16_t)i, 0, false };
}

static void add_integer(struct delta_stream *stream, struct delta_track *track, size_t i, uint64_t now, union value *delta_out)
{
    uint64_t last = track->values[i].u64, delta = now - last, rest = delta;
    bool is_linked = track->sizes[i] & SIZE_LINKED;
    if (is_linked) {
        rest -= samples_predict(stream, track, i);
        judge_link(stream->encoder, track, i, delta, rest);
    }
    delta_out->u64 = delta;
    if (delta && stream->encoder->seeks_links)
        guess_link(stream, track, i, delta_unit_steps((int64_t)delta, track->units[i]));
    int64_t steps = delta_unit_steps((int64_t)rest, track->units[i]);
    bool is_plain = track->units[i] & UNIT_IS_COUNTER && !is_linked;
    bool escapes = delta_unit_times(steps, track->units[i]) != (int64_t)rest || (is_plain && steps < 0);
    uint64_t coded = stream_zigzag(escapes ? rest : (uint64_t)steps);
    add_coded(stream->encoder, &track->sizes[i], is_plain && !escapes ? (uint64_t)steps : coded, escapes);
    if (!delta)
        return;
    track->values[i].u64 = now;
    samples_settle_unit(track, i, last, now, escapes);
}

static void add_real(struct encoder_state *encoder, struct delta_track *track, size_t i, union value now)
{
    union value last = track->values[i];
    int64_t whole, last_whole;
    unsigned form = track->units[i] & UNIT_MASK;
    bool escapes = false;
    uint64_t coded = last.u64 ^ now.u64;
    if (coded && form != FORM_BITS) {
        escapes = !delta_form_whole(now.f64, form, &whole) || !delta_form_whole(last.f64, form, &last_whole);
        if (!escapes)
            coded = stream_zigzag((uint64_t)whole - (uint64_t)last_whole);
    }
    add_coded(encoder, &track->sizes[i], coded, escapes);
    if (last.u64 == now.u64)
        return;
    track->values[i] = now;
    samples_settle_form(track, i, now.f64, escapes);
}

/* One bit for the whole sample, coded like a value that is always quiet: did it change which values are known? If so,
 * one bit per value. */
static void add_known(struct encoder_state *encoder, struct delta_track *track, const struct sample *sample)
{
    uint8_t kept = 0;
    size_t size = track->set->size, i = 0;
    if (sample->known)
        while (i < size && track->known[i] == sample->known[i])
            i++;
    else
        while (i < size && track->known[i])
            i++;
    add_coded(encoder, &kept, i < size, false);
    for (size_t from = 0; i < size && from < size; from += 32) {
        uint64_t bits = 0;
        unsigned k = 0;
        for (; k < 32 && from + k < size; k++) {
            track->known[from + k] = !sample->known || sample->known[from + k];
            bits |= (uint64_t)track->known[from + k] << k;
        }
        add_item(encoder, bits, k, 0, ITEM_BITS);
    }
}

static inline bool eight_equal(const union value *a, const union value *b)
{
    uint64_t differences = 0;
    for (size_t i = 0; i < 8; i++)
        differences |= a[i].u64 ^ b[i].u64;
    return differences == 0;
}

static void add_values(struct delta_stream *stream, struct delta_track *track, const struct sample *sample, union value *deltas)
{
    size_t size = track->set->size;
    if (size)
        memset(deltas, 0, size * sizeof *deltas);
    for (size_t from = 0; from < size; from += 8) {
        size_t end = size - from < 8 ? size : from + 8;
        if (end == from + 8 && samples_eight_quiet(track, from) && eight_equal(track->values + from, sample->values + from)) {
            extend_run(stream->encoder, 8);
            continue;
        }
        for (size_t i = from; i < end; i++) {
            if (!track->known[i])
                continue;
            if (track->sizes[i] == 0 && track->values[i].u64 == sample->values[i].u64)
                extend_run(stream->encoder, 1);
            else if (track->units[i] & UNIT_IS_REAL)
                add_real(stream->encoder, track, i, sample->values[i]);
            else
                add_integer(stream, track, i, sample->values[i].u64, &deltas[i]);
        }
    }
}

static void write_items(const struct encoder_state *encoder, struct packer *p)
{
    struct bit_writer w = { .at = p->at };
    for (const struct encoder_item *item = encoder->items, *end = item + encoder->item_count; item < end; item++) {
        switch ((enum encoder_item_kind)item->kind) {
        case ITEM_RUN:
            bits_put_golomb(&w, item->bits, SAMPLES_RUN_ORDER);
            break;
        case ITEM_BITS:
            bits_put(&w, item->bits, item->size);
            break;
        case ITEM_VALUE:
            if (item->last)
                delta_put_rank(&w, delta_rank_of(item->size, item->last));
            else
                bits_put_golomb(&w, item->size - 1u, 0);
            if (item->size > 1 && item->size <= 64)
                bits_put_long(&w, item->bits & ~(1ull << (item->size - 1)), item->size - 1u);
            break;
        }
    }
    bits_put_end(&w);
    p->at = w.at;
}

void samples_encode(struct delta_stream *stream, const struct batch *batch, struct packer *p)
{
    struct encoder_state *encoder = stream->encoder;
    const struct delta_track *before = NULL;
    uint64_t before_last_ns = 0;
    union value *deltas = encoder->deltas;
    encode_runs(encoder->tracks, batch->count, p);
    encoder->item_count = encoder->link_count = 0;
    encoder->open_run = ITEM_NONE;
    encoder->seeks_links = encoder->record % LINK_EVERY == 0;
    stream->epoch++;
    for (size_t i = 0; i < batch->count; i++) {
        struct delta_track *track = encoder->tracks[i];
        uint64_t time_ns = batch->samples[i].time_ns, last_ns = track->time_ns;
        uint64_t late_ns = time_ns - samples_expected_ns(stream, track, before, before_last_ns);
        add_coded(encoder, &track->time_size, stream_zigzag(late_ns), false);
        samples_move_time(stream, track, !before, time_ns);
        before = track;
        before_last_ns = last_ns;
        track->epoch = stream->epoch;
        track->deltas = deltas;
        add_known(encoder, track, &batch->samples[i]);
        add_values(stream, track, &batch->samples[i], deltas);
        deltas += track->set->size;
    }
    write_items(encoder, p);
}
