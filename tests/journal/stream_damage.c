/* Records and snapshots truncated at every byte and with every bit flipped: refused or misread, but never a crash, a
 * leak or more memory than the limits allow. Truncated ones are always refused. */
#include "journal/stream_pair.h"

#include "journal/set_pool.h"

#define RECORDS 24
#define METRICS 40

static struct metric metrics[METRICS];
static char names[METRICS][8];
static const struct set large = { "large", metrics, METRICS, "zone" };
static struct job job = { .id = "4711", .other_id = "s1", .source = "slurm", .user = "ada", .uid = 7, .cgroup = "" };
static const struct job *const jobs[] = { &job };
static const struct batch_event begins = { JOB_BEGIN, &job }, ends = { JOB_END, &job };
static const struct batch_gap gap = { 1, 2, 3, "spool full" };

static void make_metrics(void)
{
    for (int i = 0; i < METRICS; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        metrics[i] = (struct metric){ names[i], "B", i % 3 ? COUNTER : GAUGE, i % 10 == 9 ? F64 : i % 7 ? U64 : I64, "", NULL };
    }
}

/* Some values stay unchanged, some change by pages, some like others, some come and go. */
static void add_sample(struct batch *batch, uint64_t tick, const char *instance, const char *job_id)
{
    struct sample *sample = batch_add(batch, &large, 1794796508000319262ull + tick * 1000000000 + tick * tick * 977, instance);
    sample->job = job_id;
    for (size_t i = 0; i < METRICS; i++) {
        uint64_t moves = (tick * 2654435761u >> 7) % 5000;
        if (i % 10 == 9)
            sample_set_f64(sample, i, i % 20 == 19 ? (double)tick / 3 : (double)(tick * 7) / 100);
        else if (i % 11 != 10 || tick % 4)
            sample_set_u64(sample, i, i % 4 == 0 ? i : i % 4 == 1 ? 4096 * moves : i % 4 == 2 ? moves : tick * tick * i);
    }
}

static void make_batch(struct batch *batch, uint64_t tick)
{
    batch_reset(batch);
    add_sample(batch, tick, "", NULL);
    if (tick % 3)
        add_sample(batch, tick * 2, "b", NULL);
    if (tick > 4 && tick <= 20)
        add_sample(batch, tick, "", "4711");
    if (tick == 5 || tick == 20) {
        batch->jobs = jobs;
        batch->job_count = 1;
        batch->events = tick == 5 ? &begins : &ends;
        batch->event_count = 1;
    }
    batch->gaps = &gap;
    batch->gap_count = tick % 8 == 0;
}

/* In memory of exactly this size, so that a sanitizer detects an overrun by one byte. */
static enum err decode_copy(struct delta_stream *stream, const char *data, size_t size, struct batch *out)
{
    char *copy = malloc(size + !size);
    memcpy(copy, data, size);
    enum err err = stream_decode(stream, (struct bytes){ copy, size }, out);
    free(copy);
    return err;
}

static enum err restore_copy(struct delta_stream *stream, const char *data, size_t size)
{
    char *copy = malloc(size + !size);
    memcpy(copy, data, size);
    enum err err = stream_restore(stream, (struct bytes){ copy, size });
    free(copy);
    return err;
}

/* Calls try for each record with the state before it. */
static void for_each_record(void (*try)(struct pair *pair, struct bytes state))
{
    struct pair pair;
    struct batch batch;
    struct buf before;
    size_t sets = set_pool_count();
    make_metrics();
    pair_open(&pair);
    batch_init(&batch);
    buf_init(&before, STREAM_RECORD_MAX);
    for (uint64_t tick = 1; tick <= RECORDS; tick++) {
        buf_reset(&before);
        stream_snapshot(pair.encoder, &before);
        make_batch(&batch, tick);
        pair_pass(&pair, &batch);
        try(&pair, bytes_in(&before));
        assert_int_equal(stream_restore(pair.decoder, bytes_in(&pair.state)), OK);
        assert_same_state(&pair);
    }
    batch_clear(&batch);
    buf_clear(&before);
    pair_close(&pair);
    assert_int_equal(set_pool_count(), sets);
}

static void cut_record(struct pair *pair, struct bytes state)
{
    for (size_t size = 0; size < pair->record.size; size++) {
        assert_int_equal(stream_restore(pair->decoder, state), OK);
        assert_int_equal(decode_copy(pair->decoder, pair->record.data, size, &pair->out), CORRUPT);
        assert_int_equal(pair->out.count, 0);
    }
    assert_int_equal(stream_restore(pair->decoder, state), OK);
    assert_int_equal(decode_copy(pair->decoder, pair->record.data, pair->record.size, &pair->out), OK);
    buf_add_char(&pair->record, 0);
    assert_int_equal(stream_restore(pair->decoder, state), OK);
    assert_int_equal(decode_copy(pair->decoder, pair->record.data, pair->record.size, &pair->out), CORRUPT);
}

static void a_record_truncated_at_any_byte_is_refused(void **state)
{
    (void)state;
    for_each_record(cut_record);
}

static void flip_record(struct pair *pair, struct bytes state)
{
    for (size_t bit = 0; bit < pair->record.size * 8; bit++) {
        assert_int_equal(stream_restore(pair->decoder, state), OK);
        pair->record.data[bit / 8] ^= (char)(1 << bit % 8);
        enum err err = decode_copy(pair->decoder, pair->record.data, pair->record.size, &pair->out);
        pair->record.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_true(err == OK || err == CORRUPT || err == FULL);
        if (!err) /* what was misread is at least a valid state */
            decode_copy(pair->decoder, pair->record.data, pair->record.size, &pair->out);
    }
    for (size_t i = 0; i < pair->record.size; i++) {
        assert_int_equal(stream_restore(pair->decoder, state), OK);
        pair->record.data[i] = (char)~pair->record.data[i];
        decode_copy(pair->decoder, pair->record.data, pair->record.size, &pair->out);
        pair->record.data[i] = (char)~pair->record.data[i];
    }
}

static void a_record_with_any_bit_flipped_is_harmless(void **state)
{
    (void)state;
    for_each_record(flip_record);
}

static void damage_state(struct pair *pair, struct bytes state)
{
    static int turn;
    if (turn++ % 6)
        return; /* they are long */
    char *copy = malloc(state.size);
    memcpy(copy, state.data, state.size);
    for (size_t size = 0; size < state.size; size++)
        assert_int_equal(restore_copy(pair->decoder, copy, size), CORRUPT);
    for (size_t bit = 0; bit < state.size * 8; bit += 1 + bit % 3) {
        copy[bit / 8] ^= (char)(1 << bit % 8);
        enum err err = restore_copy(pair->decoder, copy, state.size);
        copy[bit / 8] ^= (char)(1 << bit % 8);
        assert_true(err == OK || err == CORRUPT || err == FULL);
        if (!err)
            decode_copy(pair->decoder, pair->record.data, pair->record.size, &pair->out);
    }
    free(copy);
}

static void a_damaged_snapshot_is_harmless(void **state)
{
    (void)state;
    for_each_record(damage_state);
}

static void a_record_without_its_state_is_refused(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    make_metrics();
    pair_open(&pair);
    batch_init(&batch);
    make_batch(&batch, 1);
    pair_pass(&pair, &batch);
    buf_reset(&pair.record);
    make_batch(&batch, 2);
    assert_int_equal(stream_encode(pair.encoder, &batch, &pair.record), OK);
    stream_free(&pair.decoder);
    assert_int_equal(stream_new(&pair.decoder), OK);
    assert_int_equal(stream_decode(pair.decoder, bytes_in(&pair.record), &pair.out), CORRUPT);
    assert_int_equal(stream_decode(pair.decoder, (struct bytes){ "\x80", 1 }, &pair.out), CORRUPT); /* of a newer version */
    batch_clear(&batch);
    pair_close(&pair);
}

/* A few bytes that declare a set of 4096 metrics and the maximum number of tracks and samples of it. */
static void a_small_record_cannot_use_much_memory(void **state)
{
    (void)state;
    struct delta_stream *stream;
    struct buf record;
    struct batch out;
    buf_init(&record, STREAM_RECORD_MAX);
    batch_init(&out);
    assert_int_equal(stream_new(&stream), OK);
    buf_add(&record, "\x03\x01\x00\x01s\x00\x80\x20", 8); /* sets and tracks; 1 set, number 0, "s", no instances, 4096 */
    for (int i = 0; i < 4096; i++)
        buf_add(&record, "\x00\x01x\x00\x00\x00", 6);
    buf_add(&record, "\xff\x1f", 2); /* 4095 tracks */
    for (unsigned i = 0; i < 4095; i++) {
        char number[] = { (char)(0x80 | (i & 0x7f)), (char)(i >> 7), 0, 0, 0 };
        buf_add(&record, number, sizeof number);
    }
    assert_int_equal(stream_decode(stream, bytes_in(&record), &out), FULL);
    assert_true(stream_memory(stream) < 64u << 20);
    stream_free(&stream);
    buf_clear(&record);
    batch_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_truncated_at_any_byte_is_refused),
        cmocka_unit_test(a_record_with_any_bit_flipped_is_harmless),
        cmocka_unit_test(a_damaged_snapshot_is_harmless),
        cmocka_unit_test(a_record_without_its_state_is_refused),
        cmocka_unit_test(a_small_record_cannot_use_much_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
