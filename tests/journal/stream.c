/* Batches through encoder and decoder: everything a batch can contain, and starting from a snapshot. */
#include "journal/stream_pair.h"

#include "journal/set_pool.h"

#include <math.h>

static const struct metric mixed_metrics[] = {
    { "count", "1", COUNTER, U64, "it grows", NULL },
    { "balance", "1", GAUGE, I64, NULL, "Balance" },
    { "load", "1", GAUGE, F64, "a level", NULL },
    { "bytes", "B", GAUGE, U64, "in pages", "Bytes" },
};
static const struct set mixed = { "mixed", mixed_metrics, 4, "device" };

static const struct metric plain_metrics[] = { { "a", "1", COUNTER, U64, "", NULL }, { "b", "1", COUNTER, U64, "", NULL } };
static const struct set plain = { "plain", plain_metrics, 2, NULL };
static const struct set empty = { "empty", NULL, 0, NULL };

#define START_NS 1794796508000319262ull

static void put_i64(struct sample *sample, size_t i, int64_t value)
{
    sample_set_u64(sample, i, (uint64_t)value);
}

static void add_mixed(struct batch *batch, uint64_t tick, const char *instance, const char *job)
{
    struct sample *sample = batch_add(batch, &mixed, START_NS + tick * 1000000000 + tick * 317 % 1000, instance);
    sample->job = job;
    sample_set_u64(sample, 0, tick * tick * 1000);
    put_i64(sample, 1, (int64_t)(tick % 7) * -1000 + 3);
    sample_set_f64(sample, 2, (double)tick / 3);
    if (tick % 5)
        sample_set_u64(sample, 3, tick % 3 * 4096);
}

static void add_plain(struct batch *batch, uint64_t time_ns, uint64_t a, uint64_t b)
{
    struct sample *sample = batch_add(batch, &plain, time_ns, "");
    sample_set_u64(sample, 0, a);
    sample_set_u64(sample, 1, b);
}

static void all_kinds_of_values_round_trip(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    for (uint64_t tick = 0; tick < 50; tick++) {
        batch_reset(&batch);
        add_mixed(&batch, tick, "eth0", NULL);
        add_mixed(&batch, tick * 3, "eth1", NULL);
        add_plain(&batch, START_NS + tick, tick, UINT64_MAX - tick);
        assert_non_null(batch_add(&batch, &empty, START_NS, "nothing in it"));
        pair_pass(&pair, &batch);
    }
    batch_clear(&batch);
    pair_close(&pair);
}

static void extreme_numbers_round_trip(void **state)
{
    (void)state;
    static const uint64_t ends[] = { 0, 1, UINT64_MAX, 1ull << 63, (1ull << 63) - 1, 0, UINT32_MAX, 4096, 10000, 3,
                                     UINT64_MAX, 0, 1ull << 63, UINT64_MAX / 3, 20000, 30000, 8192, 4096, 0 };
    static const double reals[] = { 0, -0.0, 1, -1, 1e300, 5e-324, INFINITY, -INFINITY, NAN, 0.1, 0.2, 1.5, 1.5 };
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
            batch_reset(&batch);
            struct sample *sample = batch_add(&batch, &mixed, ends[(i + k) % 19], "");
            sample_set_u64(sample, 0, ends[i]);
            sample_set_u64(sample, 1, ends[(i * 7 + k) % 19]);
            sample_set_f64(sample, 2, reals[k]);
            sample_set_u64(sample, 3, ends[(i + 2 * k) % 19]);
            pair_pass(&pair, &batch);
        }
    batch_clear(&batch);
    pair_close(&pair);
}

static void unknown_values_stay_unknown(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    for (unsigned bits = 0; bits < 64; bits++) {
        batch_reset(&batch);
        struct sample *sample = batch_add(&batch, &mixed, START_NS + bits, "");
        for (size_t i = 0; i < 4; i++)
            if ((bits * 11) >> i & 1)
                sample_set_u64(sample, i, bits * 1000 + i);
        pair_pass(&pair, &batch);
        for (size_t i = 0; i < 4; i++)
            assert_true(pair.out.samples[0].known[i] || pair.out.samples[0].values[i].u64 == 0);
    }
    batch_clear(&batch);
    pair_close(&pair);
}

static void without_a_known_list_all_values_are_known(void **state)
{
    (void)state;
    union value values[2] = { { .u64 = 5 }, { .u64 = 6 } };
    struct sample sample = { .set = &plain, .time_ns = START_NS, .instance = "", .values = values };
    struct batch batch = { .samples = &sample, .count = 1 };
    struct pair pair;
    pair_open(&pair);
    pair_pass(&pair, &batch);
    pair_pass(&pair, &batch);
    pair_close(&pair);
}

static void tracks_appear_and_disappear_in_any_order(void **state)
{
    (void)state;
    static const char *const instances[] = { "eth0", "eth1", "ib0", "", "a rather long name of an instance: /dev/mapper/x" };
    static const char *const jobs[] = { NULL, "4711", "", "4712" };
    struct pair pair;
    struct batch batch;
    uint64_t random = 88172645463325252ull;
    pair_open(&pair);
    batch_init(&batch);
    for (uint64_t tick = 0; tick < 400; tick++) {
        batch_reset(&batch);
        for (size_t count = random % 9; count; count--) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            add_mixed(&batch, tick + random % 3, instances[random / 8 % 5], jobs[random / 64 % 4]);
        }
        random = random * 6364136223846793005ull + 1;
        pair_pass(&pair, &batch);
        if (tick % 37 == 0)
            pair_begin_in_the_middle(&pair);
    }
    batch_clear(&batch);
    pair_close(&pair);
}

static void a_track_may_occur_twice_in_a_batch(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    for (int i = 0; i < 3; i++) {
        batch_reset(&batch);
        add_plain(&batch, START_NS, 1, 2);
        add_plain(&batch, START_NS + 5, 3, 2);
        add_plain(&batch, START_NS + 5, 1, 1);
        pair_pass(&pair, &batch);
    }
    batch_clear(&batch);
    pair_close(&pair);
}

static void an_empty_batch_is_a_record_too(void **state)
{
    (void)state;
    struct batch batch;
    struct pair pair;
    pair_open(&pair);
    batch_init(&batch);
    assert_int_equal(pair_pass(&pair, &batch), 1);
    pair_close(&pair);
}

static void a_replaced_set_drops_the_old_one(void **state)
{
    (void)state;
    struct metric metrics[] = { { "a", "1", COUNTER, U64, "", NULL }, { "b", "1", COUNTER, U64, "", NULL } };
    struct set set = { "changing", metrics, 2, NULL };
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    sample_set_u64(batch_add(&batch, &set, START_NS, ""), 1, 5);
    pair_pass(&pair, &batch);
    metrics[1].name = "c"; /* at the same address, as after free and malloc */
    pair_pass(&pair, &batch);
    assert_string_equal(pair.out.samples[0].set->metrics[1].name, "c");
    set.size = 1;
    batch_reset(&batch);
    sample_set_u64(batch_add(&batch, &set, START_NS + 1, ""), 0, 6);
    pair_pass(&pair, &batch);
    struct stream_track track;
    size_t at = 0;
    assert_true(stream_next(pair.decoder, &at, &track));
    assert_int_equal(track.set->size, 1);
    assert_false(stream_next(pair.decoder, &at, &track));
    batch_clear(&batch);
    pair_close(&pair);
}

static void stale_tracks_and_sets_are_dropped(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    size_t before = set_pool_count();
    pair_open(&pair);
    batch_init(&batch);
    add_mixed(&batch, 1, "gone soon", NULL);
    for (uint64_t tick = 1; tick < 3000; tick++) {
        add_plain(&batch, START_NS + tick * 4000000000, tick, 1);
        pair_pass(&pair, &batch);
        batch_reset(&batch);
    }
    struct stream_track track;
    size_t at = 0, count = 0;
    while (stream_next(pair.encoder, &at, &track))
        count++;
    assert_int_equal(count, 1);
    assert_int_equal(set_pool_count(), before + 1);
    batch_clear(&batch);
    pair_close(&pair);
    assert_int_equal(set_pool_count(), before);
}

static void iteration_returns_the_newest_values_by_set(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    struct stream_track track;
    size_t at = 0;
    pair_open(&pair);
    batch_init(&batch);
    assert_int_equal(stream_time_ns(pair.decoder), 0);
    assert_false(stream_next(pair.decoder, &at, &track));
    add_mixed(&batch, 1, "eth0", NULL);
    add_plain(&batch, START_NS + 99, 1, 2);
    add_mixed(&batch, 2, "eth0", "4711");
    pair_pass(&pair, &batch);
    assert_true(stream_next(pair.decoder, &at, &track));
    assert_string_equal(track.set->name, "mixed");
    assert_null(track.job);
    assert_true(stream_next(pair.decoder, &at, &track));
    assert_string_equal(track.set->name, "mixed");
    assert_string_equal(track.job, "4711");
    assert_int_equal(track.values[0].u64, 4000);
    assert_true(track.time_ns == batch.samples[2].time_ns);
    assert_true(stream_next(pair.decoder, &at, &track));
    assert_string_equal(track.set->name, "plain");
    assert_false(stream_next(pair.decoder, &at, &track));
    assert_true(stream_time_ns(pair.decoder) == batch.samples[2].time_ns);
    batch_clear(&batch);
    pair_close(&pair);
}

static void a_node_of_400_values_takes_little_memory(void **state)
{
    (void)state;
    static struct metric metrics[400];
    static char names[400][16];
    struct set set = { "large", metrics, 400, NULL };
    struct pair pair;
    struct batch batch;
    for (int i = 0; i < 400; i++) {
        snprintf(names[i], sizeof names[i], "metric_%d", i);
        metrics[i] = (struct metric){ names[i], "1", COUNTER, U64, "a line of help that is as long as they are", NULL };
    }
    pair_open(&pair);
    batch_init(&batch);
    for (uint64_t tick = 0; tick < 3; tick++) {
        batch_reset(&batch);
        struct sample *sample = batch_add(&batch, &set, START_NS + tick, "");
        for (size_t i = 0; i < 400; i++)
            sample_set_u64(sample, i, i * tick);
        pair_pass(&pair, &batch);
    }
    assert_true(stream_memory(pair.decoder) < 10000);
    batch_clear(&batch);
    pair_close(&pair);
}

/* A wide set in which little changes, like most sets. */
static size_t size_of_tick(struct pair *pair, struct batch *batch, uint64_t tick, void (*fill)(struct sample *, uint64_t))
{
    static struct metric metrics[200];
    static const struct set wide = { "wide", metrics, 200, NULL };
    static char names[200][8];
    for (int i = 0; !metrics[199].name && i < 200; i++) {
        snprintf(names[i], sizeof names[i], "w%d", i);
        metrics[i] = (struct metric){ names[i], "1", i < 100 ? GAUGE : COUNTER, U64, NULL, NULL };
    }
    batch_reset(batch);
    struct sample *sample = batch_add(batch, &wide, START_NS + tick * 1000000000, "");
    for (size_t i = 0; i < 200; i++)
        sample_set_u64(sample, i, 1000000 + i);
    fill(sample, tick);
    return pair_pass(pair, batch);
}

static void stand_still(struct sample *sample, uint64_t tick)
{
    (void)sample;
    (void)tick;
}

static uint64_t noise(uint64_t tick)
{
    return (tick * 0x9e3779b97f4a7c15ull >> 20) % 100000;
}

static void move_by_pages(struct sample *sample, uint64_t tick)
{
    for (size_t i = 0; i < 10; i++)
        sample_set_u64(sample, i, (1000000 + (noise(tick + i * 1000) & 15)) * 4096);
}

static void move_alike(struct sample *sample, uint64_t tick)
{
    for (size_t i = 0; i < 20; i++)
        sample_set_u64(sample, i, (noise(tick) + 1000000) * (i % 2 ? 4096 : 1));
}

static void count_down_at_times(struct sample *sample, uint64_t tick)
{
    sample_set_u64(sample, 150, 1000000 + tick % 8 * 1000);
}

static size_t size_after_ticks(void (*fill)(struct sample *, uint64_t))
{
    struct pair pair;
    struct batch batch;
    size_t size = 0;
    pair_open(&pair);
    batch_init(&batch);
    for (uint64_t tick = 0; tick <= 56; tick++) {
        size = size_of_tick(&pair, &batch, tick, fill);
        if (tick == 40)
            pair_begin_in_the_middle(&pair);
    }
    batch_clear(&batch);
    pair_close(&pair);
    return size;
}

static void unchanged_values_cost_nothing(void **state)
{
    (void)state;
    assert_true(size_after_ticks(stand_still) <= 6);
}

static void values_that_change_by_pages_are_sent_in_pages(void **state)
{
    (void)state;
    assert_true(size_after_ticks(move_by_pages) <= 6 + 10);
}

static void values_that_change_alike_are_sent_once(void **state)
{
    (void)state;
    assert_true(size_after_ticks(move_alike) <= 6 + 4);
}

static void a_decreasing_counter_costs_little_more(void **state)
{
    (void)state;
    assert_true(size_after_ticks(count_down_at_times) <= 6 + 6);
}

/* A collector of many nodes: what they have in common is compressed once. */
static void shared_sets_are_compressed_in_snapshots(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    struct delta_stream *others[SET_POOL_MANY];
    size_t sets = set_pool_count();
    pair_open(&pair);
    batch_init(&batch);
    size_of_tick(&pair, &batch, 0, stand_still);
    size_t alone = pair.state.size;
    for (size_t i = 0; i < SET_POOL_MANY; i++) {
        assert_int_equal(stream_new(&others[i]), OK);
        assert_int_equal(stream_restore(others[i], bytes_in(&pair.state)), OK);
    }
    pair_begin_in_the_middle(&pair);
    assert_true(pair.state.size < alone - 800);
    char *snapshot = malloc(pair.state.size);
    size_t size = pair.state.size;
    memcpy(snapshot, pair.state.data, size);
    for (size_t i = 0; i < SET_POOL_MANY; i++)
        stream_free(&others[i]);
    pair_close(&pair);
    assert_int_equal(set_pool_count(), sets);
    assert_int_equal(stream_new(&others[0]), OK); /* no stream has it now: it is decompressed */
    assert_int_equal(stream_restore(others[0], (struct bytes){ snapshot, size }), OK);
    for (size_t i = 0; i < size * 8; i++) {
        snapshot[i / 8] ^= (char)(1 << i % 8);
        stream_restore(others[0], (struct bytes){ snapshot, size });
        snapshot[i / 8] ^= (char)(1 << i % 8);
    }
    stream_free(&others[0]);
    assert_int_equal(set_pool_count(), sets);
    free(snapshot);
    batch_clear(&batch);
}

static void exceeding_a_limit_changes_nothing(void **state)
{
    (void)state;
    static char text[STREAM_STRING_MAX + 2];
    struct pair pair;
    struct batch batch;
    memset(text, 'x', sizeof text - 1);
    pair_open(&pair);
    batch_init(&batch);
    add_plain(&batch, START_NS, 1, 2);
    pair_pass(&pair, &batch);
    add_mixed(&batch, 1, "new", NULL);
    add_mixed(&batch, 1, text, NULL);
    assert_int_equal(stream_encode(pair.encoder, &batch, &pair.record), FULL);
    assert_same_state(&pair);
    batch.count--;
    struct buf small;
    buf_init(&small, 100);
    assert_int_equal(stream_encode(pair.encoder, &batch, &small), FULL);
    buf_clear(&small);
    assert_same_state(&pair);
    pair_pass(&pair, &batch);
    batch_clear(&batch);
    pair_close(&pair);
}

static void the_number_of_tracks_is_limited(void **state)
{
    (void)state;
    char name[32];
    struct pair pair;
    struct batch batch;
    enum err err = OK;
    uint64_t tracks = 0;
    pair_open(&pair);
    batch_init(&batch);
    while (!err && tracks < 2 * STREAM_TRACKS_MAX) {
        snprintf(name, sizeof name, "%llu", (unsigned long long)tracks++);
        batch_reset(&batch);
        batch_add(&batch, &empty, START_NS, name);
        buf_reset(&pair.record);
        err = stream_encode(pair.encoder, &batch, &pair.record);
        if (!err)
            assert_int_equal(stream_decode(pair.decoder, bytes_in(&pair.record), &pair.out), OK);
    }
    assert_int_equal(err, FULL);
    assert_int_equal(tracks, STREAM_TRACKS_MAX + 1);
    assert_same_state(&pair);
    pair_begin_in_the_middle(&pair);
    batch_clear(&batch);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_values_round_trip),
        cmocka_unit_test(extreme_numbers_round_trip),
        cmocka_unit_test(unknown_values_stay_unknown),
        cmocka_unit_test(without_a_known_list_all_values_are_known),
        cmocka_unit_test(tracks_appear_and_disappear_in_any_order),
        cmocka_unit_test(a_track_may_occur_twice_in_a_batch),
        cmocka_unit_test(an_empty_batch_is_a_record_too),
        cmocka_unit_test(a_replaced_set_drops_the_old_one),
        cmocka_unit_test(stale_tracks_and_sets_are_dropped),
        cmocka_unit_test(iteration_returns_the_newest_values_by_set),
        cmocka_unit_test(a_node_of_400_values_takes_little_memory),
        cmocka_unit_test(unchanged_values_cost_nothing),
        cmocka_unit_test(values_that_change_by_pages_are_sent_in_pages),
        cmocka_unit_test(values_that_change_alike_are_sent_once),
        cmocka_unit_test(a_decreasing_counter_costs_little_more),
        cmocka_unit_test(shared_sets_are_compressed_in_snapshots),
        cmocka_unit_test(exceeding_a_limit_changes_nothing),
        cmocka_unit_test(the_number_of_tracks_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
