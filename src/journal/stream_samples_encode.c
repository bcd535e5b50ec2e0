/* Samples into bits. A first walk finds what each value has to tell, in a list of items: how many quiet values stand still
 * until the next that does not is known only when that one is reached. A second walk writes the list. */
#include "journal/stream_samples.h"

#define LINK_EVERY 4    /* records between two looks for links */
#define LINK_SCORE 3    /* looks that must agree */
#define LINK_DEBT 12    /* times that a link did harm more often than it helped */
#define LINK_STEPS 8    /* smaller changes are too often alike by chance */
#define ITEM_NONE SIZE_MAX

size_t samples_room(size_t samples, size_t values)
{
    return 64 + BITS_SLACK + samples * (2 * PACK_NUMBER_MAX + 24) + values * 14 + values / 8;
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

static inline void add_item(struct stream_bench *bench, uint64_t bits, unsigned size, unsigned last, enum bench_sort sort)
{
    bench->items[bench->item_count++] = (struct bench_item){ bits, (uint8_t)size, (uint8_t)last, (uint8_t)sort };
}

/* A quiet value may stand still: then it only makes the run longer. */
static inline void stand_still(struct stream_bench *bench, size_t count)
{
    if (bench->open_run == ITEM_NONE) {
        bench->open_run = bench->item_count;
        add_item(bench, 0, 0, 0, BENCH_RUN);
    }
    bench->items[bench->open_run].bits += count;
}

static inline void tell(struct stream_bench *bench, uint8_t *kept, uint64_t residual, bool escapes)
{
    unsigned last = *kept & ~SIZE_LINKED, size = bits_size(residual);
    if (last == 0) {
        stand_still(bench, residual == 0);
        if (residual == 0)
            return;
        bench->open_run = ITEM_NONE;
    }
    if (escapes) {
        add_item(bench, 0, SIZE_ESCAPE, last, BENCH_VALUE);
        last = 0;
    }
    add_item(bench, residual, size, last, BENCH_VALUE);
    samples_keep_size(kept, size);
}

/* Notes each larger change under a hash of its steps, and looks whether the same was noted before. */
static void guess_link(struct stream *stream, const struct track *track, size_t i, int64_t steps)
{
    struct stream_bench *bench = stream->bench;
    struct track_guess *guess = &track->guesses[i];
    if (steps > -LINK_STEPS && steps < LINK_STEPS)
        return;
    struct bench_seen *seen = &bench->seen[((uint64_t)steps * 0x9e3779b97f4a7c15ull) >> (64 - BENCH_SEEN_BITS)];
    if (seen->record != bench->record || seen->steps != steps) {
        if (seen->record != bench->record)
            *seen = (struct bench_seen){ bench->record, steps, track->number, (uint32_t)i };
        guess->score -= guess->score > 0;
        return;
    }
    if (track->sizes[i] & SIZE_LINKED || seen->track > track->number || track->number - seen->track >= STREAM_LINK_TRACKS
        || (seen->track == track->number && seen->value >= i))
        return;
    uint16_t link = STREAM_LINK(track->number - seen->track, seen->value);
    guess->score = guess->link == link ? (uint8_t)(guess->score + 1) : 1;
    guess->link = link;
    if (guess->score >= LINK_SCORE && bench->link_count < BENCH_LINKS)
        bench->new_links[bench->link_count++] = (struct bench_link){ track->number, (uint16_t)i, link, true };
}

/* A link that makes things worse too often is given up. */
static void judge_link(struct stream_bench *bench, const struct track *track, size_t i, uint64_t delta, uint64_t rest)
{
    struct track_guess *guess = &track->guesses[i];
    if (rest == 0) {
        guess->debt -= guess->debt > 0;
        return;
    }
    if (bits_size(stream_zigzag(rest)) <= bits_size(stream_zigzag(delta)) || ++guess->debt < LINK_DEBT
        || bench->link_count >= BENCH_LINKS)
        return;
    guess->debt = guess->score = 0;
    bench->new_links[bench->link_count++] = (struct bench_link){ track->number, (uint16_t)i, 0, false };
}

static void tell_whole(struct stream *stream, struct track *track, size_t i, uint64_t now, union value *delta_out)
{
    uint64_t last = track->values[i].u64, delta = now - last, rest = delta;
    bool is_linked = track->sizes[i] & SIZE_LINKED;
    if (is_linked) {
        rest -= samples_predict(stream, track, i);
        judge_link(stream->bench, track, i, delta, rest);
    }
    delta_out->u64 = delta;
    if (delta && stream->bench->seeks_links)
        guess_link(stream, track, i, unit_steps((int64_t)delta, track->units[i]));
    int64_t steps = unit_steps((int64_t)rest, track->units[i]);
    bool is_plain = track->units[i] & UNIT_IS_COUNTER && !is_linked;
    bool escapes = unit_times(steps, track->units[i]) != (int64_t)rest || (is_plain && steps < 0);
    uint64_t residual = stream_zigzag(escapes ? rest : (uint64_t)steps);
    tell(stream->bench, &track->sizes[i], is_plain && !escapes ? (uint64_t)steps : residual, escapes);
    if (!delta)
        return;
    track->values[i].u64 = now;
    samples_settle_unit(track, i, last, now, escapes);
}

static void tell_real(struct stream_bench *bench, struct track *track, size_t i, union value now)
{
    union value last = track->values[i];
    int64_t whole, last_whole;
    unsigned form = track->units[i] & UNIT_MASK;
    bool escapes = false;
    uint64_t residual = last.u64 ^ now.u64;
    if (residual && form != FORM_BITS) {
        escapes = !form_whole(now.f64, form, &whole) || !form_whole(last.f64, form, &last_whole);
        if (!escapes)
            residual = stream_zigzag((uint64_t)whole - (uint64_t)last_whole);
    }
    tell(bench, &track->sizes[i], residual, escapes);
    if (last.u64 == now.u64)
        return;
    track->values[i] = now;
    samples_settle_form(track, i, now.f64, escapes);
}

/* One bit for the whole sample, as a value that is always quiet; then the bits of all. */
static void tell_known(struct stream_bench *bench, struct track *track, const struct sample *sample)
{
    uint8_t kept = 0;
    size_t size = track->set->size, i = 0;
    if (sample->known)
        while (i < size && track->known[i] == sample->known[i])
            i++;
    else
        while (i < size && track->known[i])
            i++;
    tell(bench, &kept, i < size, false);
    for (size_t from = 0; i < size && from < size; from += 32) {
        uint64_t bits = 0;
        unsigned k = 0;
        for (; k < 32 && from + k < size; k++) {
            track->known[from + k] = !sample->known || sample->known[from + k];
            bits |= (uint64_t)track->known[from + k] << k;
        }
        add_item(bench, bits, k, 0, BENCH_BITS);
    }
}

static inline bool eight_equal(const union value *a, const union value *b)
{
    uint64_t differences = 0;
    for (size_t i = 0; i < 8; i++)
        differences |= a[i].u64 ^ b[i].u64;
    return differences == 0;
}

static void tell_values(struct stream *stream, struct track *track, const struct sample *sample, union value *deltas)
{
    size_t size = track->set->size;
    if (size)
        memset(deltas, 0, size * sizeof *deltas);
    for (size_t from = 0; from < size; from += 8) {
        size_t end = size - from < 8 ? size : from + 8;
        if (end == from + 8 && samples_eight_quiet(track, from) && eight_equal(track->values + from, sample->values + from)) {
            stand_still(stream->bench, 8);
            continue;
        }
        for (size_t i = from; i < end; i++) {
            if (!track->known[i])
                continue;
            if (track->sizes[i] == 0 && track->values[i].u64 == sample->values[i].u64)
                stand_still(stream->bench, 1);
            else if (track->units[i] & UNIT_IS_REAL)
                tell_real(stream->bench, track, i, sample->values[i]);
            else
                tell_whole(stream, track, i, sample->values[i].u64, &deltas[i]);
        }
    }
}

static void write_items(const struct stream_bench *bench, struct packer *p)
{
    struct bit_writer w = { .at = p->at };
    for (const struct bench_item *item = bench->items, *end = item + bench->item_count; item < end; item++) {
        switch ((enum bench_sort)item->sort) {
        case BENCH_RUN:
            bits_put_golomb(&w, item->bits, SAMPLES_RUN_ORDER);
            break;
        case BENCH_BITS:
            bits_put(&w, item->bits, item->size);
            break;
        case BENCH_VALUE:
            if (item->last)
                rank_put(&w, rank_of(item->size, item->last));
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

void samples_encode(struct stream *stream, const struct batch *batch, struct packer *p)
{
    struct stream_bench *bench = stream->bench;
    const struct track *before = NULL;
    uint64_t before_last_ns = 0;
    union value *deltas = bench->deltas;
    encode_runs(bench->tracks, batch->count, p);
    bench->item_count = bench->link_count = 0;
    bench->open_run = ITEM_NONE;
    bench->seeks_links = bench->record % LINK_EVERY == 0;
    stream->epoch++;
    for (size_t i = 0; i < batch->count; i++) {
        struct track *track = bench->tracks[i];
        uint64_t time_ns = batch->samples[i].time_ns, last_ns = track->time_ns;
        uint64_t late_ns = time_ns - samples_expected_ns(stream, track, before, before_last_ns);
        tell(bench, &track->time_size, stream_zigzag(late_ns), false);
        samples_move_time(stream, track, !before, time_ns);
        before = track;
        before_last_ns = last_ns;
        track->epoch = stream->epoch;
        track->deltas = deltas;
        tell_known(bench, track, &batch->samples[i]);
        tell_values(stream, track, &batch->samples[i], deltas);
        deltas += track->set->size;
    }
    write_items(bench, p);
}
