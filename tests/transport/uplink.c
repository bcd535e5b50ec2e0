/* The uplink against a collector simulated by the test, over loopback. */
#include "transport/uplink.h"

#include "tools/caught.h"
#include "transport/keys.h"
#include "transport/uplink_fixture.h"

static struct delta_stream *decoder;

static int begin(void **state)
{
    decoder = NULL;
    return stream_new(&decoder) || set_up(state);
}

static int end(void **state)
{
    stream_free(&decoder);
    return tear_down(state);
}

/* Messages of an earlier connection may come first. */
static void greet_again(void)
{
    do
        assert_true(receive_within(WAIT_NS));
    while (got.kind != MESSAGE_HELLO);
    send_welcome(1, 0);
}

static bool all_is_acked(const struct uplink_figures *figures)
{
    return figures->lag_bytes == 0 && figures->records_acked > 0;
}

static void records_are_sent_and_acknowledged(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(3);
    start_with(0);
    greet();
    receive_opening(decoder);
    receive_records(decoder, 1, 3);
    send_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.state, UPLINK_UP);
    assert_int_equal(figures.records_sent, 3);
    assert_int_equal(figures.records_acked, 3);
    assert_int_equal(figures.connections, 1);
    assert_string_equal(figures.collector, address);
    assert_string_equal(figures.error, "");
    feed(1);
    receive_records(decoder, 4, 4);
}

static bool has_four(const struct uplink_figures *figures)
{
    return figures->records_acked == 4;
}

static void a_new_connection_starts_after_the_last_acknowledgement(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(7);
    start_with(0);
    greet();
    receive_opening(decoder);
    receive_records(decoder, 1, 4);
    send_ack(got.number);
    receive_records(decoder, 5, 7);
    assert_true(comes_true(has_four, &figures));
    zmq->router_close(&router);
    open_router(NULL, NULL);
    greet();
    receive_opening(decoder); /* the state after the fourth */
    receive_records(decoder, 5, 7);
    send_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.connections, 2);
}

static void a_restart_continues_after_the_last_acknowledgement(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(6);
    start_with(0);
    greet();
    receive_opening(decoder);
    receive_records(decoder, 1, 4);
    send_ack(got.number);
    assert_true(comes_true(has_four, &figures));
    uplink_close(&uplink, 0);
    start_with(0);
    greet_again();
    receive_opening(decoder);
    receive_records(decoder, 5, 6);
}

static void many_segments(void **state)
{
    (void)state;
    struct uplink_figures figures;
    enum { MANY = 3000 };
    feed(MANY / 2);
    start_with(0);
    greet();
    receive_opening(decoder);
    for (uint64_t at = 1; at <= MANY; at += 100) {
        if (at == MANY / 2 + 1)
            feed(MANY / 2);
        receive_records(decoder, at, at + 99);
        send_ack(got.number);
    }
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.records_acked, MANY);
}

static void no_more_than_a_window_is_in_flight(void **state)
{
    (void)state;
    feed(500);
    start_with(0);
    receive(MESSAGE_HELLO);
    send_welcome(1, 2000);
    receive_opening(decoder);
    size_t bytes = 0;
    uint64_t records = 0;
    while (receive_within(500 * NS_PER_MS)) {
        bytes += in.size;
        records++;
    }
    assert_true(records > 5 && records < 400);
    assert_true(bytes < 2000 + 100);
    send_ack(got.number);
    assert_true(receive_within(WAIT_NS));
}

static void a_silent_collector_is_abandoned(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(2);
    catch_stderr();
    start_with(400 * NS_PER_MS);
    greet();
    receive_opening(decoder);
    receive_records(decoder, 1, 2);
    do
        assert_true(receive_within(WAIT_NS));
    while (got.kind == MESSAGE_PING);
    assert_int_equal(got.kind, MESSAGE_HELLO);
    uplink_figures(uplink, &figures);
    assert_non_null(strstr(caught_text(), "it stopped responding"));
}

static void an_idle_connection_is_pinged(void **state)
{
    (void)state;
    struct uplink_figures figures;
    start_with(1500 * NS_PER_MS);
    greet();
    for (int i = 0; i < 4; i++) {
        receive(MESSAGE_PING);
        send_ack(got.number);
    }
    uplink_figures(uplink, &figures);
    assert_int_equal(figures.connections, 1);
}

static bool is_refused(const struct uplink_figures *figures)
{
    return figures->state == UPLINK_REFUSED;
}

static void a_refusal_is_reported(void **state)
{
    (void)state;
    struct uplink_figures figures;
    struct message_refuse refuse = { .error = bytes_of("two agents are called node17"), .for_good = false };
    struct buf body;
    buf_init(&body, 4096);
    message_write_refuse(&body, &refuse);
    catch_stderr();
    start_with(0);
    receive(MESSAGE_HELLO);
    send_to_uplink(MESSAGE_REFUSE, (struct bytes){ body.data, body.size });
    assert_true(comes_true(is_refused, &figures));
    assert_string_equal(figures.error, "two agents are called node17");
    receive(MESSAGE_HELLO);
    send_welcome(1, 0);
    feed(1);
    receive_opening(decoder);
    assert_int_equal(lines_in(caught_text()), 2); /* failure and recovery */
    buf_clear(&body);
}

static void unknown_messages_of_a_newer_collector_are_answered(void **state)
{
    (void)state;
    struct uplink_figures figures;
    struct message_cannot cannot;
    catch_stderr();
    start_with(0);
    greet();
    send_as(2, 99, bytes_of("whatever a later version says"));
    receive(MESSAGE_CANNOT);
    assert_int_equal(message_read_cannot(got.body, &cannot), OK);
    assert_int_equal(cannot.kind, 99);
    assert_int_equal(cannot.version, 2);
    send_as(2, 99, bytes_of("again")); /* once is enough */
    feed(1);
    receive_opening(decoder);
    receive_records(decoder, 1, 1);
    uint8_t ack[PACK_NUMBER_MAX];
    struct packer packer = { ack, ack + sizeof ack, false };
    pack_number(&packer, got.number);
    send_as(2, MESSAGE_ACK, (struct bytes){ (char *)ack, (size_t)(packer.at - ack) });
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.connections, 1);
    assert_int_equal(lines_in(caught_text()), 1);
}

static void a_collector_with_another_protocol_version(void **state)
{
    (void)state;
    struct uplink_figures figures;
    catch_stderr();
    start_with(0);
    receive(MESSAGE_HELLO);
    send_welcome(7, 0);
    assert_true(comes_true(is_refused, &figures));
    assert_non_null(strstr(figures.error, "version 7"));
    assert_non_null(strstr(caught_text(), "version 7"));
}

static bool has_unreadable(const struct uplink_figures *figures)
{
    return figures->unreadable == 1;
}

static void what_an_old_collector_cannot_read_is_counted(void **state)
{
    (void)state;
    struct uplink_figures figures;
    struct message_cannot cannot = { .kind = MESSAGE_RECORD, .version = 1, .number = 4, .error = bytes_of("it is too new") };
    struct buf body;
    buf_init(&body, 4096);
    message_write_cannot(&body, &cannot);
    feed(2);
    catch_stderr();
    start_with(0);
    greet();
    receive_opening(decoder);
    receive_records(decoder, 1, 2);
    send_to_uplink(MESSAGE_CANNOT, (struct bytes){ body.data, body.size });
    send_ack(got.number);
    assert_true(comes_true(has_unreadable, &figures));
    assert_true(comes_true(all_is_acked, &figures));
    assert_non_null(strstr(figures.error, "too new"));
    assert_non_null(strstr(caught_text(), "too new"));
    buf_clear(&body);
}

static void invalid_messages_end_only_the_connection(void **state)
{
    (void)state;
    feed(1);
    catch_stderr();
    start_with(0);
    receive(MESSAGE_HELLO);
    assert_int_equal(zmq->router_send(router, &peer, bytes_of("HTTP/1.1 400 Bad Request")), OK);
    greet();
    send_ack(1000000); /* never sent */
    greet_again();
    receive_opening(decoder);
    receive_records(decoder, 1, 1);
    assert_int_equal(lines_in(caught_text()), 4); /* each interruption and recovery */
}

static void again_restarts_with_hello(void **state)
{
    (void)state;
    feed(1);
    start_with(0);
    greet();
    receive_opening(decoder);
    send_ack(got.number);
    receive_records(decoder, 1, 1);
    send_to_uplink(MESSAGE_AGAIN, (struct bytes){ 0 });
    greet_again();
    receive_opening(decoder);
    receive_records(decoder, 1, 1);
}

static void the_next_collector_is_tried(void **state)
{
    (void)state;
    const char *const collectors[] = { "tcp://127.0.0.1:9", address, NULL };
    struct uplink_settings settings = usual_settings(collectors);
    struct uplink_figures figures;
    feed(1);
    catch_stderr();
    assert_int_equal(uplink_open(&uplink, &settings, &error), OK);
    greet();
    receive_opening(decoder);
    receive_records(decoder, 1, 1);
    send_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    assert_string_equal(figures.collector, address);
    assert_non_null(strstr(caught_text(), "tcp://127.0.0.1:9"));
}

/* Only when the other one has acknowledged everything: no record is sent to both. */
static void the_uplink_returns_to_the_first_collector(void **state)
{
    (void)state;
    char first[sizeof address];
    memcpy(first, address, sizeof first);
    zmq->router_close(&router);
    address[0] = '\0';
    open_router(NULL, NULL);
    struct zmq_router *second = router;
    const char *const collectors[] = { first, address, NULL };
    struct uplink_settings settings = usual_settings(collectors);
    settings.return_ns = NS_PER_S / 5;
    feed(3);
    assert_int_equal(uplink_open(&uplink, &settings, &error), OK);
    greet();
    receive_opening(decoder);
    receive_records(decoder, 1, 3);
    memcpy(address, first, sizeof first);
    open_router(NULL, NULL);
    struct zmq_router *back = router;
    assert_false(receive_within(2 * NS_PER_S)); /* it has checked by now */
    feed(2);
    router = second;
    assert_false(receive_within(NS_PER_S / 2));
    send_ack(got.number);
    router = back;
    greet();
    receive_opening(decoder);
    receive_records(decoder, 4, 5);
    zmq->router_close(&second);
}

/* More than the journal keeps. */
static void a_gap_is_sent_once(void **state)
{
    (void)state;
    struct uplink_figures figures;
    struct batch batch;
    start_with(0); /* its cursor is at the start */
    receive(MESSAGE_HELLO);
    for (int i = 0; i < 80; i++) {
        feed(1000);
        journal_maintain(journal, clock_realtime_ns());
    }
    struct journal_figures kept;
    journal_figures(journal, &kept);
    assert_true(kept.lost_records > 0);
    send_welcome(1, 0);
    receive_opening(decoder); /* empty: nothing is known from before */
    batch_init(&batch);
    receive_record(decoder, kept.lost_records, &batch);
    assert_int_equal(batch.count, 0);
    assert_int_equal(batch.gap_count, 1);
    assert_int_equal(batch.gaps[0].batches, kept.lost_records);
    assert_string_equal(batch.gaps[0].reason, "journal full");
    batch_clear(&batch);
    send_ack(got.number);
    for (uint64_t at = kept.lost_records + 1; at <= fed; at++) {
        receive_records(decoder, at, at);
        if (at % 100 == 0 || at == fed)
            send_ack(got.number);
    }
    assert_true(comes_true(all_is_acked, &figures));
}

static void closing_waits_for_the_last_acknowledgement(void **state)
{
    (void)state;
    struct uplink_figures figures;
    start_with(0);
    greet();
    receive_within(100 * NS_PER_MS);
    feed(5);
    receive_opening(decoder);
    receive_records(decoder, 1, 5);
    send_ack(got.number);
    uplink_close(&uplink, WAIT_NS);
    start_with(0);
    greet();
    assert_false(receive_within(300 * NS_PER_MS));
    uplink_figures(uplink, &figures);
    assert_int_equal(figures.lag_bytes, 0);
}

static bool allows_all(void *context, const char *public_key, const char *from, char name[256])
{
    (void)context;
    (void)from;
    name[0] = '\0';
    return public_key != NULL;
}

static bool is_waiting(const struct uplink_figures *figures)
{
    return figures->state == UPLINK_WAITING && figures->error[0];
}

static void keys_are_reloaded(void **state)
{
    (void)state;
    struct keys_pair its, ours, wrong;
    char path[TEMP_PATH_MAX], server[TEMP_PATH_MAX], server_public[TEMP_PATH_MAX];
    struct zmq_authorizer gate = { allows_all, NULL };
    struct uplink_figures figures;
    assert_true(zmq->keypair(its.public_key, its.secret_key) && zmq->keypair(ours.public_key, ours.secret_key));
    assert_true(zmq->keypair(wrong.public_key, wrong.secret_key));
    temp_join(path, dir, "host.key");
    temp_join(server, dir, "server.key");
    temp_join(server_public, dir, "server.key.pub");
    assert_int_equal(keys_write(path, &ours, false, &error), OK);
    assert_int_equal(keys_write(server, &wrong, false, &error), OK);
    zmq->router_close(&router);
    open_router(&(struct zmq_keys){ .public_key = its.public_key, .secret_key = its.secret_key }, &gate);
    const char *const collectors[] = { address, NULL }, *const keys[] = { server_public, NULL };
    struct uplink_settings settings = usual_settings(collectors);
    settings.key_file = path;
    settings.server_keys = keys;
    feed(1);
    catch_stderr();
    assert_int_equal(uplink_open(&uplink, &settings, &error), OK);
    assert_true(comes_true(is_waiting, &figures));
    assert_non_null(strstr(caught_text(), "handshake"));
    assert_int_equal(keys_write(server, &its, true, &error), OK);
    uplink_reload(uplink);
    greet();
    assert_string_equal(peer.key, ours.public_key);
    receive_opening(decoder);
    receive_records(decoder, 1, 1);
    send_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    uplink_reload(uplink); /* nothing has changed: it stays connected */
    feed(1);
    receive_records(decoder, 2, 2);
    assert_int_equal(keys_write(path, &wrong, true, &error), OK);
    uplink_reload(uplink);
    greet();
    assert_string_equal(peer.key, wrong.public_key);
}

static void invalid_settings(void **state)
{
    (void)state;
    const char *const bad[] = { "tcp://a b", NULL }, *const none[] = { NULL }, *const good[] = { address, NULL };
    const char *const keys[] = { "/nonexistent.pub", NULL };
    struct uplink_settings settings = usual_settings(bad);
    assert_int_equal(uplink_open(&uplink, &settings, &error), USAGE);
    assert_non_null(strstr(buf_text(&error), "tcp://a b"));
    settings.collectors = none;
    assert_int_equal(uplink_open(&uplink, &settings, &error), USAGE);
    settings.collectors = good;
    settings.server_keys = keys;
    assert_int_equal(uplink_open(&uplink, &settings, &error), USAGE);
    settings.key_file = "/nonexistent.key";
    assert_int_equal(uplink_open(&uplink, &settings, &error), ABSENT);
    assert_non_null(strstr(buf_text(&error), "sonde keygen /nonexistent.key"));
    assert_null(uplink);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_are_sent_and_acknowledged),
        TEST(a_new_connection_starts_after_the_last_acknowledgement),
        TEST(a_restart_continues_after_the_last_acknowledgement),
        TEST(many_segments),
        TEST(no_more_than_a_window_is_in_flight),
        TEST(a_silent_collector_is_abandoned),
        TEST(an_idle_connection_is_pinged),
        TEST(a_refusal_is_reported),
        TEST(unknown_messages_of_a_newer_collector_are_answered),
        TEST(a_collector_with_another_protocol_version),
        TEST(what_an_old_collector_cannot_read_is_counted),
        TEST(invalid_messages_end_only_the_connection),
        TEST(again_restarts_with_hello),
        TEST(the_next_collector_is_tried),
        TEST(the_uplink_returns_to_the_first_collector),
        TEST(a_gap_is_sent_once),
        TEST(closing_waits_for_the_last_acknowledgement),
        TEST(keys_are_reloaded),
        TEST(invalid_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
