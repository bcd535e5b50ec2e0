/* Decoding starts at a snapshot; decoders of ended streams are freed. */
#include "tools/unit.h"

#include "sinks/stream_decoders.h"
#include "tools/temp.h"
#include "journal/stream.h"

static const struct metric metrics[] = { { "n", "1", COUNTER, U64, "" } };
static const struct set set = { "load", metrics, 1 };

struct writer {
    uint64_t stream, sequence;
    struct delta_stream *encoder;
};

static char dir[TEMP_PATH_MAX];
static struct journal *journal;

static int begin(void **state)
{
    (void)state;
    struct buf error;
    buf_init(&error, 1024);
    temp_dir(dir);
    assert_int_equal(journal_open(&journal, dir, &(struct journal_settings){ .segment_bytes = 4096 }, &error), OK);
    buf_clear(&error);
    return 0;
}

static int end(void **state)
{
    (void)state;
    journal_close(&journal);
    temp_remove(dir);
    return 0;
}

static void put(struct writer *writer, uint64_t value)
{
    struct batch batch;
    struct buf record, snapshot;
    batch_init(&batch);
    buf_init(&record, 65536);
    buf_init(&snapshot, 65536);
    stream_snapshot(writer->encoder, &snapshot);
    sample_set_u64(batch_add(&batch, &set, value * 1000000000, ""), 0, value);
    assert_int_equal(stream_encode(writer->encoder, &batch, &record), OK);
    struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT, .host = "n1", .stream = writer->stream, .sequence = writer->sequence,
                                   .body = { snapshot.data, snapshot.size } };
    if (journal_needs_snapshot(journal, "n1", writer->stream))
        assert_int_equal(journal_append(journal, &entry), OK);
    entry.kind = JOURNAL_RECORD;
    entry.sequence = ++writer->sequence;
    entry.body = (struct bytes){ record.data, record.size };
    assert_int_equal(journal_append(journal, &entry), OK);
    batch_clear(&batch);
    buf_clear(&record);
    buf_clear(&snapshot);
}

static void decoders_of_ended_streams_are_freed(void **state)
{
    (void)state;
    struct journal_reader *reader;
    struct journal_entry entry;
    struct stream_decoders *decoders;
    const struct batch *batch;
    struct writer lasting = { .stream = 1 };
    uint64_t sum = 0, want = 0;
    size_t most = 0;
    assert_int_equal(stream_new(&lasting.encoder), OK);
    assert_int_equal(journal_reader_open(journal, &reader, "test", true, 0), OK);
    assert_int_equal(stream_decoders_new(&decoders), OK);
    for (uint64_t i = 1; i <= 300; i++) { /* agents that restart repeatedly */
        struct writer brief = { .stream = 1000 + i };
        assert_int_equal(stream_new(&brief.encoder), OK);
        put(&brief, i);
        put(&lasting, 1000 * i);
        put(&brief, i);
        want += 1002 * i;
        stream_free(&brief.encoder);
        if (i % 10 == 0)
            journal_maintain(journal, i * 1000000000);
        while (journal_reader_next(reader, &entry) == OK) {
            stream_decoders_enter_segment(decoders, journal_reader_segment(reader));
            assert_int_equal(stream_decoders_decode(decoders, &entry, &batch), OK);
            sum += batch ? batch->samples[0].values[0].u64 : 0;
        }
        most = stream_decoders_count(decoders) > most ? stream_decoders_count(decoders) : most;
    }
    assert_true(sum == want);
    assert_true(most < 150);
    stream_decoders_free(&decoders);
    journal_reader_close(&reader);
    stream_free(&lasting.encoder);
}

static void after_corruption_decoding_resumes_at_a_snapshot(void **state)
{
    (void)state;
    struct stream_decoders *decoders;
    const struct batch *batch;
    struct delta_stream *empty;
    struct buf snapshot;
    buf_init(&snapshot, 4096);
    assert_int_equal(stream_decoders_new(&decoders), OK);
    struct journal_entry entry = { .kind = JOURNAL_RECORD, .host = "n1", .stream = 4, .sequence = 7, .is_new = true,
                                   .body = { "\xff", 1 } };
    assert_int_equal(stream_decoders_decode(decoders, &entry, &batch), CORRUPT); /* without a snapshot */
    assert_null(batch);
    assert_int_equal(stream_new(&empty), OK);
    stream_snapshot(empty, &snapshot);
    stream_free(&empty);
    entry.kind = JOURNAL_SNAPSHOT;
    entry.body = (struct bytes){ snapshot.data, snapshot.size };
    assert_int_equal(stream_decoders_decode(decoders, &entry, &batch), OK);
    entry.kind = JOURNAL_GAP;
    entry.gap_records = 9;
    assert_int_equal(stream_decoders_decode(decoders, &entry, &batch), OK);
    assert_int_equal(batch->gap_count, 1);
    assert_int_equal(batch->gaps[0].batches, 9);
    assert_string_equal(batch->host, "n1");
    stream_decoders_free(&decoders);
    buf_clear(&snapshot);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = { TEST(decoders_of_ended_streams_are_freed),
                                        TEST(after_corruption_decoding_resumes_at_a_snapshot) };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
