/* Pieces of a run's spool in records: they round-trip and do not change the stream's state. */
#include "journal/stream.h"

#include "tools/unit.h"

#include <string.h>

static const struct metric metrics[] = { { "one", "1", COUNTER, U64, "", NULL } };
static const struct set set = { "things", metrics, 1, NULL };

static void encode(struct delta_stream *stream, const struct batch_piece *piece, struct buf *out, enum err expected)
{
    struct batch batch;
    batch_init(&batch);
    batch.piece = piece;
    buf_reset(out);
    assert_int_equal(stream_encode(stream, &batch, out), expected);
    batch_clear(&batch);
}

static void encode_sample(struct delta_stream *stream, uint64_t time_ns, uint64_t value, struct buf *out)
{
    struct batch batch;
    batch_init(&batch);
    sample_set_u64(batch_add(&batch, &set, time_ns, ""), 0, value);
    buf_reset(out);
    assert_int_equal(stream_encode(stream, &batch, out), OK);
    batch_clear(&batch);
}

static enum err decode(struct delta_stream *stream, const struct buf *record, size_t size, struct batch *batch)
{
    return stream_decode(stream, (struct bytes){ record->data, size }, batch);
}

static void a_piece_between_samples_round_trips(void **state)
{
    (void)state;
    struct delta_stream *from, *to;
    struct buf record;
    struct batch batch;
    static const char bytes[] = "any \0 bytes";
    const struct batch_piece piece = { "n1.18e8-1-2", 1000, 7, 7 + sizeof bytes + 5, { bytes, sizeof bytes } };
    buf_init(&record, 1 << 20);
    batch_init(&batch);
    assert_int_equal(stream_new(&from), OK);
    assert_int_equal(stream_new(&to), OK);
    encode_sample(from, 1000, 5, &record);
    assert_int_equal(decode(to, &record, record.size, &batch), OK);
    encode(from, &piece, &record, OK);
    assert_int_equal(decode(to, &record, record.size, &batch), OK);
    assert_non_null(batch.piece);
    assert_int_equal(batch.count, 0);
    assert_string_equal(batch.piece->name, piece.name);
    assert_int_equal(batch.piece->uid, 1000);
    assert_int_equal(batch.piece->offset, 7);
    assert_int_equal(batch.piece->total, piece.total);
    assert_int_equal(batch.piece->data.size, sizeof bytes);
    assert_memory_equal(batch.piece->data.data, bytes, sizeof bytes);
    encode_sample(from, 2000, 6, &record);
    assert_int_equal(decode(to, &record, record.size, &batch), OK);
    assert_null(batch.piece);
    assert_int_equal(batch.samples[0].values[0].u64, 6);
    stream_free(&from);
    stream_free(&to);
    buf_clear(&record);
    batch_clear(&batch);
}

static void a_truncated_piece_is_refused(void **state)
{
    (void)state;
    struct delta_stream *stream;
    struct buf record;
    struct batch batch;
    const struct batch_piece piece = { "n1.x", 0, 0, 300, { "abc", 3 }, "ada" };
    buf_init(&record, 1 << 20);
    batch_init(&batch);
    assert_int_equal(stream_new(&stream), OK);
    encode(stream, &piece, &record, OK);
    assert_int_equal(decode(stream, &record, record.size, &batch), OK);
    assert_string_equal(batch.piece->user, "ada");
    size_t without_user = record.size - 4; /* as version 0.1 sent it */
    assert_int_equal(decode(stream, &record, without_user, &batch), OK);
    assert_string_equal(batch.piece->user, "");
    for (size_t size = 0; size < record.size; size++)
        assert_int_equal(decode(stream, &record, size, &batch), size == without_user ? OK : CORRUPT);
    buf_add_char(&record, 'x');
    assert_int_equal(decode(stream, &record, record.size, &batch), CORRUPT);
    stream_free(&stream);
    buf_clear(&record);
    batch_clear(&batch);
}

static void an_oversized_piece_is_refused(void **state)
{
    (void)state;
    struct delta_stream *stream;
    struct buf record;
    struct batch batch;
    static char large[STREAM_PIECE_MAX + 1];
    struct batch_piece piece = { "n1.x", 0, 0, sizeof large, { large, sizeof large } };
    buf_init(&record, 4 << 20);
    batch_init(&batch);
    assert_int_equal(stream_new(&stream), OK);
    encode(stream, &piece, &record, FULL);
    piece.name = "";
    piece.data.size = 1;
    encode(stream, &piece, &record, USAGE);
    piece.name = "n1.x";
    piece.offset = sizeof large; /* after its end: invalid */
    encode(stream, &piece, &record, OK);
    assert_int_equal(decode(stream, &record, record.size, &batch), CORRUPT);
    assert_null(batch.piece);
    stream_free(&stream);
    buf_clear(&record);
    batch_clear(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_between_samples_round_trips), cmocka_unit_test(a_truncated_piece_is_refused),
        cmocka_unit_test(an_oversized_piece_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
