/* Kafka envelopes: round trip, truncated, and from newer versions. */
#include "transport/kafka_envelope.h"

#include "net/msgpack.h"

#include "tools/unit.h"

static void write_one(struct buf *out)
{
    buf_init(out, 4096);
    struct kafka_envelope envelope = { .host = bytes_of("n1"), .stream = UINT64_MAX, .sequence = 300, .epoch = 7, .before = 299,
                                       .state = bytes_of("state"), .record = bytes_of("") };
    kafka_envelope_write(out, &envelope);
    assert_int_equal(buf_err(out), OK);
}

static void an_envelope_round_trips(void **state)
{
    (void)state;
    struct buf out;
    struct kafka_envelope envelope;
    write_one(&out);
    assert_int_equal(kafka_envelope_read((struct bytes){ out.data, out.size }, &envelope), OK);
    assert_bytes(envelope.host, "n1");
    assert_true(envelope.stream == UINT64_MAX);
    assert_int_equal(envelope.sequence, 300);
    assert_int_equal(envelope.epoch, 7);
    assert_int_equal(envelope.before, 299);
    assert_bytes(envelope.state, "state");
    assert_int_equal(envelope.record.size, 0);
    buf_clear(&out);
}

static void a_truncated_envelope_is_corrupt(void **state)
{
    (void)state;
    struct buf out;
    struct kafka_envelope envelope;
    write_one(&out);
    for (size_t size = 0; size < out.size; size++) {
        char *exact = malloc(size + 1); /* so that reading past the end is detected */
        memcpy(exact, out.data, size);
        assert_int_equal(kafka_envelope_read((struct bytes){ exact, size }, &envelope), CORRUPT);
        free(exact);
    }
    buf_clear(&out);
}

static void invalid_host_names_are_refused(void **state)
{
    (void)state;
    static const struct bytes hosts[] = { { "", 0 }, { "a\0b", 3 } };
    struct kafka_envelope envelope;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct buf out;
        buf_init(&out, 4096);
        envelope = (struct kafka_envelope){ .host = hosts[i], .sequence = 1, .state = bytes_of("s"), .record = bytes_of("r") };
        kafka_envelope_write(&out, &envelope);
        assert_int_equal(kafka_envelope_read((struct bytes){ out.data, out.size }, &envelope), CORRUPT);
        buf_clear(&out);
    }
    assert_int_equal(kafka_envelope_read(bytes_of("{\"time_ns\": 1}"), &envelope), CORRUPT);
}

static void newer_versions_and_unknown_keys_are_recognized(void **state)
{
    (void)state;
    struct buf out;
    struct kafka_envelope envelope;
    buf_init(&out, 4096);
    msgpack_map(&out, 2);
    msgpack_text(&out, bytes_of("new"));
    msgpack_array(&out, 1);
    msgpack_u64(&out, 5);
    msgpack_text(&out, bytes_of("v"));
    msgpack_u64(&out, KAFKA_ENVELOPE_VERSION + 1);
    assert_int_equal(kafka_envelope_read((struct bytes){ out.data, out.size }, &envelope), USAGE);
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_envelope_round_trips),
        cmocka_unit_test(a_truncated_envelope_is_corrupt),
        cmocka_unit_test(invalid_host_names_are_refused),
        cmocka_unit_test(newer_versions_and_unknown_keys_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
