/* Messages and their bodies: round trip, truncated, flipped bits, and from newer versions. */
#include "transport/message.h"

#include "net/msgpack.h"

#include "tools/unit.h"

static struct bytes bytes_in(const struct buf *buf)
{
    return (struct bytes){ buf->data, buf->size };
}

static void write_one(struct buf *out, struct bytes body, bool compress)
{
    buf_init(out, MESSAGE_MAX);
    message_write(out, &(struct message){ MESSAGE_VERSION, MESSAGE_RECORD, 300, body }, compress);
    assert_int_equal(buf_err(out), OK);
}

static void a_message_round_trips(void **state)
{
    (void)state;
    struct buf out, plain;
    struct message message;
    buf_init(&plain, MESSAGE_MAX);
    write_one(&out, bytes_of("the body"), true);
    assert_int_equal(out.size, 4 + 1 + 2 + 4 + 8);
    assert_int_equal(message_read(bytes_in(&out), &message, &plain), OK);
    assert_int_equal(message.version, MESSAGE_VERSION);
    assert_int_equal(message.kind, MESSAGE_RECORD);
    assert_int_equal(message.number, 300);
    assert_bytes(message.body, "the body");
    buf_clear(&out);
    buf_clear(&plain);
}

static void a_large_body_is_compressed_if_that_helps(void **state)
{
    (void)state;
    static char body[100000];
    struct buf out, plain;
    struct message message;
    buf_init(&plain, MESSAGE_MAX);
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)(i / 100);
    write_one(&out, (struct bytes){ body, sizeof body }, true);
    assert_true(out.size < sizeof body / 10);
    assert_int_equal(message_read(bytes_in(&out), &message, &plain), OK);
    assert_int_equal(message.body.size, sizeof body);
    assert_memory_equal(message.body.data, body, sizeof body);
    buf_clear(&out);
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)((random = random * 6364136223846793005ull + 1) >> 56);
    write_one(&out, (struct bytes){ body, sizeof body }, true);
    assert_int_equal(out.size, sizeof body + 4 + 3 + 2 + 4);
    assert_int_equal(message_read(bytes_in(&out), &message, &plain), OK);
    assert_memory_equal(message.body.data, body, sizeof body);
    buf_clear(&out);
    buf_clear(&plain);
}

/* In memory of exactly this size, so that a sanitizer detects an overrun by one byte. */
static enum err read_copy(const char *data, size_t size, struct message *message, struct buf *plain)
{
    char *copy = malloc(size + !size);
    memcpy(copy, data, size);
    enum err err = message_read((struct bytes){ copy, size }, message, plain);
    free(copy);
    return err;
}

static void a_message_truncated_at_any_byte_is_refused(void **state)
{
    (void)state;
    char body[600];
    struct buf out, plain;
    struct message message;
    buf_init(&plain, MESSAGE_MAX);
    memset(body, 'x', sizeof body);
    for (int compress = 0; compress < 2; compress++) {
        write_one(&out, (struct bytes){ body, sizeof body }, compress);
        for (size_t size = 0; size < out.size; size++)
            assert_int_equal(read_copy(out.data, size, &message, &plain), CORRUPT);
        buf_add_char(&out, 'x');
        assert_int_equal(message_read(bytes_in(&out), &message, &plain), CORRUPT);
        buf_clear(&out);
    }
    buf_clear(&plain);
}

static void a_message_with_any_bit_flipped_is_refused(void **state)
{
    (void)state;
    char body[600];
    struct buf out, plain;
    struct message message;
    buf_init(&plain, MESSAGE_MAX);
    memset(body, 'x', sizeof body);
    for (int compress = 0; compress < 2; compress++) {
        write_one(&out, (struct bytes){ body, sizeof body }, compress);
        for (size_t i = 0; i < out.size * 8; i++) {
            out.data[i / 8] ^= (char)(1 << i % 8);
            assert_int_not_equal(read_copy(out.data, out.size, &message, &plain), OK);
            out.data[i / 8] ^= (char)(1 << i % 8);
        }
        for (size_t i = 0; i < out.size; i++) {
            out.data[i] = (char)~out.data[i];
            assert_int_not_equal(read_copy(out.data, out.size, &message, &plain), OK);
            out.data[i] = (char)~out.data[i];
        }
        buf_clear(&out);
    }
    buf_clear(&plain);
}

static void a_newer_version_or_kind_is_not_an_error(void **state)
{
    (void)state;
    struct buf out, plain;
    struct message message;
    buf_init(&plain, MESSAGE_MAX);
    buf_init(&out, MESSAGE_MAX);
    message_write(&out, &(struct message){ 9, (enum message_kind)200, 1, bytes_of("?") }, false);
    assert_int_equal(message_read(bytes_in(&out), &message, &plain), OK);
    assert_int_equal(message.version, 9);
    assert_int_equal(message.kind, 200);
    buf_clear(&out);
    buf_clear(&plain);
}

static void a_message_that_claims_too_much_is_full(void **state)
{
    (void)state;
    static const uint8_t large[] = { MESSAGE_MAGIC, 1, 4, 0, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0, 0, 0 };
    struct message message;
    struct buf plain;
    buf_init(&plain, MESSAGE_MAX);
    assert_int_equal(message_read((struct bytes){ (const char *)large, sizeof large }, &message, &plain), FULL);
    buf_clear(&plain);
}

static void bodies_round_trip(void **state)
{
    (void)state;
    struct buf body;
    buf_init(&body, 1 << 20);
    struct message_hello hello = { bytes_of("node17"), bytes_of("sonde 0.1.0"), 1, 2, bytes_of("agent"), UINT64_MAX,
                                   { "MUNGE:\0x", 8 } }, hello_back;
    message_write_hello(&body, &hello);
    assert_int_equal(message_read_hello(bytes_in(&body), &hello_back), OK);
    assert_bytes(hello_back.host, "node17");
    assert_bytes(hello_back.software, "sonde 0.1.0");
    assert_bytes(hello_back.role, "agent");
    assert_bytes(hello_back.credential, "MUNGE:\0x");
    assert_true(hello_back.version_min == 1 && hello_back.version_max == 2 && hello_back.instance == UINT64_MAX);
    buf_reset(&body);

    struct message_welcome welcome = { bytes_of("login1"), bytes_of("sonde"), 1, 1 << 20 }, welcome_back;
    message_write_welcome(&body, &welcome);
    assert_int_equal(message_read_welcome(bytes_in(&body), &welcome_back), OK);
    assert_bytes(welcome_back.host, "login1");
    assert_true(welcome_back.version == 1 && welcome_back.window_bytes == 1 << 20);
    buf_reset(&body);

    struct message_open open = { 70000, bytes_of("node17"), 0x123456789abcdefull }, open_back;
    message_write_open(&body, &open);
    assert_int_equal(message_read_open(bytes_in(&body), &open_back), OK);
    assert_bytes(open_back.host, "node17");
    assert_true(open_back.number == 70000 && open_back.stream == 0x123456789abcdefull);
    buf_reset(&body);

    struct message_cannot cannot = { 200, 9, 255, bytes_of("it is newer than I am, and this is a sentence of more than 32") },
        cannot_back;
    message_write_cannot(&body, &cannot);
    assert_int_equal(message_read_cannot(bytes_in(&body), &cannot_back), OK);
    assert_true(bytes_equal(cannot.error, cannot_back.error) && cannot_back.kind == 200 && cannot_back.number == 255);
    buf_reset(&body);

    struct message_refuse refuse = { bytes_of("no"), true }, refuse_back;
    message_write_refuse(&body, &refuse);
    assert_int_equal(message_read_refuse(bytes_in(&body), &refuse_back), OK);
    assert_true(refuse_back.for_good);
    assert_bytes(refuse_back.error, "no");
    buf_clear(&body);
}

static void unknown_keys_in_a_body_are_skipped(void **state)
{
    (void)state;
    struct buf body;
    struct message_refuse refuse;
    buf_init(&body, 1 << 20);
    msgpack_map(&body, 4);
    msgpack_text(&body, bytes_of("new"));
    msgpack_array(&body, 3);
    msgpack_map(&body, 1);
    msgpack_f64(&body, 1.5);
    msgpack_nil(&body);
    msgpack_i64(&body, -5);
    msgpack_bytes(&body, (struct bytes){ "\0\1", 2 });
    msgpack_text(&body, bytes_of("why"));
    msgpack_text(&body, bytes_of("so"));
    msgpack_text(&body, bytes_of("newer"));
    msgpack_i64(&body, INT64_MIN);
    msgpack_text(&body, bytes_of("ext"));
    buf_add(&body, "\xc7\x02\x01zz", 5);
    assert_int_equal(message_read_refuse(bytes_in(&body), &refuse), OK);
    assert_bytes(refuse.error, "so");
    assert_false(refuse.for_good);
    buf_clear(&body);
}

static void a_truncated_or_mistyped_body_is_refused(void **state)
{
    (void)state;
    struct buf body;
    struct message_hello hello = { .host = bytes_of("node17"), .instance = 1ull << 40 }, back;
    buf_init(&body, 1 << 20);
    message_write_hello(&body, &hello);
    for (size_t size = 0; size < body.size; size++) {
        char *copy = malloc(size + !size);
        memcpy(copy, body.data, size);
        assert_int_equal(message_read_hello((struct bytes){ copy, size }, &back), CORRUPT);
        free(copy);
    }
    buf_reset(&body);
    msgpack_map(&body, 1);
    msgpack_text(&body, bytes_of("host"));
    msgpack_u64(&body, 5);
    assert_int_equal(message_read_hello(bytes_in(&body), &back), CORRUPT);
    buf_reset(&body);
    buf_add(&body, "\xdf\xff\xff\xff\xff", 5);
    assert_int_equal(message_read_hello(bytes_in(&body), &back), CORRUPT);
    buf_reset(&body);
    buf_add(&body, "\x81\xa1x\xdd\xff\xff\xff\xff", 8);
    assert_int_equal(message_read_hello(bytes_in(&body), &back), CORRUPT);
    buf_clear(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_round_trips),
        cmocka_unit_test(a_large_body_is_compressed_if_that_helps),
        cmocka_unit_test(a_message_truncated_at_any_byte_is_refused),
        cmocka_unit_test(a_message_with_any_bit_flipped_is_refused),
        cmocka_unit_test(a_newer_version_or_kind_is_not_an_error),
        cmocka_unit_test(a_message_that_claims_too_much_is_full),
        cmocka_unit_test(bodies_round_trip),
        cmocka_unit_test(unknown_keys_in_a_body_are_skipped),
        cmocka_unit_test(a_truncated_or_mistyped_body_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
