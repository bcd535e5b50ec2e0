/* The router's side of ZMTP against a hand-written client: its bytes split in every way, and invalid input.
 * tests/transport/zmq.c tests it with libzmq's DEALER. */
#include "transport/zmtp.h"

#include "tools/curve_client.h"
#include "tools/unit.h"

#define MESSAGE_MAX 4096

static struct zmtp_server server;
static struct curve_pair pair; /* the server's */
static struct buf input;       /* by the client, from the start */
static struct buf taken;       /* messages, one per line */
static bool is_allowed;
static int asked;
static uint8_t asked_key[CURVE_KEY];

static bool authorize(void *context, struct zmtp *peer, const uint8_t *public_key)
{
    (void)context, (void)peer;
    asked++;
    if (public_key)
        memcpy(asked_key, public_key, sizeof asked_key);
    return is_allowed;
}

static enum err take(void *context, struct zmtp *peer, struct bytes message)
{
    (void)context;
    assert_int_equal(peer->state, ZMTP_OPEN);
    buf_add(&taken, message.data, message.size);
    buf_add_char(&taken, '\n');
    return OK;
}

static int set_up(void **state)
{
    (void)state;
    assert_true(zmtp_server_init(&server, MESSAGE_MAX));
    server.authorize = authorize;
    server.take = take;
    buf_init(&input, 1 << 20);
    buf_init(&taken, 1 << 20);
    is_allowed = true;
    asked = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    zmtp_server_clear(&server);
    buf_clear(&input);
    buf_clear(&taken);
    return 0;
}

static void add_greeting(const char *mechanism)
{
    char greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\1";
    memcpy(greeting + 12, mechanism, strlen(mechanism));
    buf_add(&input, greeting, sizeof greeting);
}

static void add_frame(int flags, const void *body, size_t size)
{
    buf_add_char(&input, (char)flags);
    if (flags & 2)
        buf_add(&input, "\0\0\0\0\0\0\0", 7);
    buf_add_char(&input, (char)size);
    buf_add(&input, body, size);
}

#define READY "\5READY\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0"

static void add_hello(void)
{
    add_greeting("NULL");
    add_frame(4, READY, sizeof READY);
}

/* Sends all input in pieces of this size. */
static enum err receive(size_t piece, struct buf *out)
{
    struct zmtp peer;
    enum err err = OK;
    zmtp_init(&peer, &server, out);
    for (size_t at = 0; at < input.size && !err; at += piece)
        err = zmtp_receive(&server, &peer, (struct bytes){ input.data + at, input.size - at < piece ? input.size - at : piece },
                           out);
    if (!err && taken.size)
        assert_null(peer.rest.data); /* nothing is allocated between two messages */
    zmtp_clear(&peer);
    return err;
}

static void messages_in_pieces_of_any_size(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    add_hello();
    add_frame(0, "one", 3);
    add_frame(1, "two ", 4);
    add_frame(1, "and ", 4);
    add_frame(2, "three", 5);
    add_frame(0, "", 0);
    add_frame(4, "\4PING\0\1abc", 10);
    for (size_t piece = 1; piece <= input.size; piece++) {
        buf_reset(&out);
        buf_reset(&taken);
        assert_int_equal(receive(piece, &out), OK);
        assert_string_equal(buf_text(&taken), "one\ntwo and three\n\n");
        assert_memory_equal(out.data + out.size - 10, "\4\10\4PONGabc", 10);
    }
    buf_clear(&out);
}

static enum err receive_alone(void)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    enum err err = receive(input.size, &out);
    buf_clear(&out);
    return err;
}

static void other_protocols(void **state)
{
    (void)state;
    buf_add_text(&input, "GET / HTTP/1.0\r\n");
    assert_int_equal(receive_alone(), CORRUPT);
    buf_reset(&input);
    add_greeting("PLAIN");
    assert_int_equal(receive_alone(), CORRUPT);
    buf_reset(&input);
    add_greeting("NULL");
    input.data[10] = 2; /* an old version */
    assert_int_equal(receive_alone(), CORRUPT);
    assert_int_equal(asked, 0);
}

static void incompatible_socket_types(void **state)
{
    (void)state;
    static const char ready[] = "\5READY\13Socket-Type\0\0\0\3SUB", cut[] = "\5READY\13Socket-Type\0\0\1\6DEALER";
    add_greeting("NULL");
    add_frame(4, ready, sizeof ready - 1);
    assert_int_equal(receive_alone(), CORRUPT);
    buf_reset(&input);
    add_greeting("NULL");
    add_frame(4, cut, sizeof cut - 1);
    assert_int_equal(receive_alone(), CORRUPT);
    buf_reset(&input);
    add_greeting("NULL");
    add_frame(4, "\5READY", 6);
    assert_int_equal(receive_alone(), CORRUPT);
}

static void oversized_messages(void **state)
{
    (void)state;
    static const char body[2000];
    add_hello();
    buf_add(&input, "\2\0\0\0\0\0\1\0\0", 9);
    assert_int_equal(receive_alone(), CORRUPT); /* detected by the header alone */
    buf_reset(&input);
    add_hello();
    for (int i = 0; i < 40; i++)
        add_frame(1, body, 200);
    assert_int_equal(receive_alone(), FULL); /* all parts together */
    buf_reset(&input);
    add_greeting("NULL");
    buf_add(&input, "\6\0\0\0\0\0\0\20\1", 9);
    assert_int_equal(receive_alone(), CORRUPT); /* before authorization */
}

static void an_unauthorized_client_gets_an_error(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    is_allowed = false;
    add_hello();
    assert_int_equal(receive(input.size, &out), DENIED);
    assert_int_equal(out.size, 64 + 12);
    assert_memory_equal(out.data + 64, "\4\12\5ERROR\003400", 12);
    buf_clear(&out);
}

static struct curve_client client;

static const char metadata[] = READY; /* after its name */
#define METADATA (struct bytes){ metadata + 6, sizeof metadata - 6 }

/* Passes the input to peer and clears it. */
static enum err pass_input(struct zmtp *peer, struct buf *out)
{
    buf_reset(out);
    enum err err = zmtp_receive(&server, peer, (struct bytes){ input.data, input.size }, out);
    buf_reset(&input);
    return err;
}

static void add_initiate(const struct curve_pair *voucher, const uint8_t *server_key)
{
    uint8_t initiate[CLIENT_INITIATE(sizeof metadata)];
    struct curve_claim claim = { voucher, server_key, METADATA };
    size_t size = CLIENT_INITIATE(claim.metadata.size);
    assert_true(curve_client_initiate(&client, &claim, initiate));
    add_frame(6, initiate, 0);
    input.data[input.size - 2] = (char)(size >> 8);
    input.data[input.size - 1] = (char)size;
    buf_add(&input, initiate, size);
}

static size_t make_message(uint8_t *message, const char *text)
{
    assert_true(curve_client_message(&client, 0, bytes_of(text), message));
    return CLIENT_MESSAGE(strlen(text));
}

/* Up to WELCOME. */
static void begin_curve(struct zmtp *peer, struct buf *out)
{
    uint8_t hello[CLIENT_HELLO];
    crypto_box_keypair(pair.public_key, pair.secret_key);
    curve_client_init(&client, pair.public_key);
    server.keys = &pair;
    buf_init(out, 1 << 16);
    zmtp_init(peer, &server, out);
    assert_true(curve_client_hello(&client, hello));
    add_greeting("CURVE");
    add_frame(4, hello, sizeof hello);
    assert_int_equal(pass_input(peer, out), OK);
    assert_int_equal(out->size, 2 + CLIENT_WELCOME);
    assert_true(curve_client_welcome(&client, (const uint8_t *)out->data + 2));
}

static void open_curve(struct zmtp *peer, struct buf *out)
{
    begin_curve(peer, out);
    add_initiate(NULL, NULL);
    assert_int_equal(pass_input(peer, out), OK);
    assert_int_equal(peer->state, ZMTP_OPEN);
    assert_null(peer->handshake);
    assert_memory_equal(asked_key, client.lasting.public_key, CURVE_KEY);
}

static void close_curve(struct zmtp *peer, struct buf *out)
{
    zmtp_clear(peer);
    buf_clear(out);
}

static void a_replayed_message_is_refused(void **state)
{
    (void)state;
    struct zmtp peer;
    struct buf out;
    uint8_t message[128];
    open_curve(&peer, &out);
    size_t size = make_message(message, "paid");
    add_frame(0, message, size);
    assert_int_equal(pass_input(&peer, &out), OK);
    assert_string_equal(buf_text(&taken), "paid\n");
    add_frame(0, message, size); /* replayed */
    assert_int_equal(pass_input(&peer, &out), CORRUPT);
    assert_string_equal(buf_text(&taken), "paid\n");
    close_curve(&peer, &out);
}

static void a_message_with_any_bit_flipped(void **state)
{
    (void)state;
    uint8_t message[128];
    for (size_t bit = 0;; bit++) {
        struct zmtp peer;
        struct buf out;
        open_curve(&peer, &out);
        size_t size = make_message(message, "paid");
        if (bit < size * 8)
            message[bit / 8] ^= (uint8_t)(1u << bit % 8);
        add_frame(0, message, size);
        enum err err = pass_input(&peer, &out);
        close_curve(&peer, &out);
        if (bit == size * 8) {
            assert_int_equal(err, OK);
            break;
        }
        assert_int_equal(err, CORRUPT);
        assert_int_equal(taken.size, 0);
    }
}

/* Our answer, as the client reads it. */
static void an_encrypted_answer(void **state)
{
    (void)state;
    struct zmtp peer;
    struct buf out;
    uint8_t nonce[crypto_box_NONCEBYTES], plain[8];
    open_curve(&peer, &out);
    buf_reset(&out);
    zmtp_send(&server, &peer, bytes_of("thanks"), &out);
    assert_int_equal(out.size, 2 + CURVE_MESSAGE_EXTRA + 6);
    assert_memory_equal(out.data, "\0\47\7MESSAGE", 10);
    curve_client_nonce(nonce, "CurveZMQMESSAGES", 2); /* READY was the first */
    assert_memory_equal(out.data + 10, nonce + 16, 8);
    assert_int_equal(crypto_box_open_easy_afternm(plain, (const uint8_t *)out.data + 18, 7 + 16, nonce, client.key), 0);
    assert_memory_equal(plain, "\0thanks", 7);
    close_curve(&peer, &out);
}

static void refuse_initiate(const struct curve_pair *voucher, const uint8_t *server_key, bool wrong_cookie)
{
    struct zmtp peer;
    struct buf out;
    begin_curve(&peer, &out);
    if (wrong_cookie)
        client.cookie[7] ^= 1;
    add_initiate(voucher, server_key);
    assert_int_equal(pass_input(&peer, &out), CORRUPT);
    assert_int_equal(asked, 0);
    close_curve(&peer, &out);
}

static void a_client_without_the_secret_key(void **state)
{
    (void)state;
    struct curve_pair other;
    crypto_box_keypair(other.public_key, other.secret_key);
    refuse_initiate(&other, NULL, false);
    refuse_initiate(NULL, other.public_key, false); /* a vouch for another server */
    refuse_initiate(NULL, NULL, true);
}

static void a_message_before_the_handshake(void **state)
{
    (void)state;
    struct zmtp peer;
    struct buf out;
    begin_curve(&peer, &out);
    add_frame(0, "hello", 5);
    assert_int_equal(pass_input(&peer, &out), CORRUPT);
    assert_int_equal(taken.size, 0);
    close_curve(&peer, &out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_in_pieces_of_any_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_protocols, set_up, tear_down),
        cmocka_unit_test_setup_teardown(incompatible_socket_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(oversized_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unauthorized_client_gets_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replayed_message_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_with_any_bit_flipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_encrypted_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_without_the_secret_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_before_the_handshake, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
