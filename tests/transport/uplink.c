/* The uplink against a collector that is played by the test, over loopback. */
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

/* What an earlier connection had sent may come before. */
static void greet_anew(void)
{
    do
        assert_true(hear_within(WAIT_NS));
    while (got.kind != MESSAGE_HELLO);
    say_welcome(1, 0);
}

static bool all_is_acked(const struct uplink_figures *figures)
{
    return figures->lag_bytes == 0 && figures->records_acked > 0;
}

static void records_go_up_and_are_acknowledged(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(3);
    start_with(0);
    greet();
    take_opening(decoder);
    take_records(decoder, 1, 3);
    say_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.state, UPLINK_UP);
    assert_int_equal(figures.records_sent, 3);
    assert_int_equal(figures.records_acked, 3);
    assert_int_equal(figures.connections, 1);
    assert_string_equal(figures.collector, address);
    assert_string_equal(figures.error, "");
    feed(1);
    take_records(decoder, 4, 4);
}

static bool has_four(const struct uplink_figures *figures)
{
    return figures->records_acked == 4;
}

static void a_new_connection_begins_behind_the_last_acknowledgement(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(7);
    start_with(0);
    greet();
    take_opening(decoder);
    take_records(decoder, 1, 4);
    say_ack(got.number);
    take_records(decoder, 5, 7);
    assert_true(comes_true(has_four, &figures));
    zmq->router_close(&router);
    open_router(NULL, NULL);
    greet();
    take_opening(decoder); /* as it was behind the fourth */
    take_records(decoder, 5, 7);
    say_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.connections, 2);
}

static void a_restart_goes_on_where_it_was(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(6);
    start_with(0);
    greet();
    take_opening(decoder);
    take_records(decoder, 1, 4);
    say_ack(got.number);
    assert_true(comes_true(has_four, &figures));
    uplink_close(&uplink, 0);
    start_with(0);
    greet_anew();
    take_opening(decoder);
    take_records(decoder, 5, 6);
}

static void many_segments(void **state)
{
    (void)state;
    struct uplink_figures figures;
    enum { MANY = 3000 };
    feed(MANY / 2);
    start_with(0);
    greet();
    take_opening(decoder);
    for (uint64_t at = 1; at <= MANY; at += 100) {
        if (at == MANY / 2 + 1)
            feed(MANY / 2);
        take_records(decoder, at, at + 99);
        say_ack(got.number);
    }
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.records_acked, MANY);
}

static void no_more_than_a_window_is_on_its_way(void **state)
{
    (void)state;
    feed(500);
    start_with(0);
    hear(MESSAGE_HELLO);
    say_welcome(1, 2000);
    take_opening(decoder);
    size_t bytes = 0;
    uint64_t records = 0;
    while (hear_within(500 * NS_PER_MS)) {
        bytes += in.size;
        records++;
    }
    assert_true(records > 5 && records < 400);
    assert_true(bytes < 2000 + 100);
    say_ack(got.number);
    assert_true(hear_within(WAIT_NS));
}

static void who_is_silent_is_left(void **state)
{
    (void)state;
    struct uplink_figures figures;
    feed(2);
    catch_stderr();
    start_with(400 * NS_PER_MS);
    greet();
    take_opening(decoder);
    take_records(decoder, 1, 2);
    do
        assert_true(hear_within(WAIT_NS));
    while (got.kind == MESSAGE_PING);
    assert_int_equal(got.kind, MESSAGE_HELLO);
    uplink_figures(uplink, &figures);
    assert_non_null(strstr(caught_text(), "it stopped responding"));
}

static void an_idle_line_is_pinged(void **state)
{
    (void)state;
    struct uplink_figures figures;
    start_with(1500 * NS_PER_MS);
    greet();
    for (int i = 0; i < 4; i++) {
        hear(MESSAGE_PING);
        say_ack(got.number);
    }
    uplink_figures(uplink, &figures);
    assert_int_equal(figures.connections, 1);
}

static bool is_refused(const struct uplink_figures *figures)
{
    return figures->state == UPLINK_REFUSED;
}

static void a_refusal_is_told(void **state)
{
    (void)state;
    struct uplink_figures figures;
    struct message_refuse refuse = { .error = bytes_of("two agents are called node17"), .for_good = false };
    struct buf body;
    buf_init(&body, 4096);
    message_write_refuse(&body, &refuse);
    catch_stderr();
    start_with(0);
    hear(MESSAGE_HELLO);
    say(MESSAGE_REFUSE, (struct bytes){ body.data, body.size });
    assert_true(comes_true(is_refused, &figures));
    assert_string_equal(figures.error, "two agents are called node17");
    hear(MESSAGE_HELLO);
    say_welcome(1, 0);
    feed(1);
    take_opening(decoder);
    assert_int_equal(lines_in(caught_text()), 2); /* that it does not, and that it does */
    buf_clear(&body);
}

static void a_newer_collector_is_understood_or_told(void **state)
{
    (void)state;
    struct uplink_figures figures;
    struct message_cannot cannot;
    catch_stderr();
    start_with(0);
    greet();
    say_as(2, 99, bytes_of("whatever a later version says"));
    hear(MESSAGE_CANNOT);
    assert_int_equal(message_read_cannot(got.body, &cannot), OK);
    assert_int_equal(cannot.kind, 99);
    assert_int_equal(cannot.version, 2);
    say_as(2, 99, bytes_of("again")); /* once is enough */
    feed(1);
    take_opening(decoder);
    take_records(decoder, 1, 1);
    uint8_t ack[PACK_NUMBER_MAX];
    struct packer packer = { ack, ack + sizeof ack, false };
    pack_number(&packer, got.number);
    say_as(2, MESSAGE_ACK, (struct bytes){ (char *)ack, (size_t)(packer.at - ack) });
    assert_true(comes_true(all_is_acked, &figures));
    assert_int_equal(figures.connections, 1);
    assert_int_equal(lines_in(caught_text()), 1);
}

static void a_collector_that_speaks_another_version_only(void **state)
{
    (void)state;
    struct uplink_figures figures;
    catch_stderr();
    start_with(0);
    hear(MESSAGE_HELLO);
    say_welcome(7, 0);
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
    take_opening(decoder);
    take_records(decoder, 1, 2);
    say(MESSAGE_CANNOT, (struct bytes){ body.data, body.size });
    say_ack(got.number);
    assert_true(comes_true(has_unreadable, &figures));
    assert_true(comes_true(all_is_acked, &figures));
    assert_non_null(strstr(figures.error, "too new"));
    assert_non_null(strstr(caught_text(), "too new"));
    buf_clear(&body);
}

static void noise_ends_the_connection_only(void **state)
{
    (void)state;
    feed(1);
    catch_stderr();
    start_with(0);
    hear(MESSAGE_HELLO);
    assert_int_equal(zmq->router_send(router, &peer, bytes_of("HTTP/1.1 400 Bad Request")), OK);
    greet();
    say_ack(1000000); /* of what was never sent */
    greet_anew();
    take_opening(decoder);
    take_records(decoder, 1, 1);
    assert_int_equal(lines_in(caught_text()), 4); /* each time that it was cut, and that it is back */
}

static void asked_to_it_says_hello_again(void **state)
{
    (void)state;
    feed(1);
    start_with(0);
    greet();
    take_opening(decoder);
    say_ack(got.number);
    take_records(decoder, 1, 1);
    say(MESSAGE_AGAIN, (struct bytes){ 0 });
    greet_anew();
    take_opening(decoder);
    take_records(decoder, 1, 1);
}

static void the_next_of_the_list_is_taken(void **state)
{
    (void)state;
    const char *const collectors[] = { "tcp://127.0.0.1:9", address, NULL };
    struct uplink_settings settings = usual_settings(collectors);
    struct uplink_figures figures;
    feed(1);
    catch_stderr();
    assert_int_equal(uplink_open(&uplink, &settings, &error), OK);
    greet();
    take_opening(decoder);
    take_records(decoder, 1, 1);
    say_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    assert_string_equal(figures.collector, address);
    assert_non_null(strstr(caught_text(), "tcp://127.0.0.1:9"));
}

/* Only when the other one has acknowledged all that it got: nothing is with both. */
static void when_the_first_is_back_it_is_taken_again(void **state)
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
    take_opening(decoder);
    take_records(decoder, 1, 3);
    memcpy(address, first, sizeof first);
    open_router(NULL, NULL);
    struct zmq_router *back = router;
    assert_false(hear_within(2 * NS_PER_S)); /* it has knocked by now */
    feed(2);
    router = second;
    assert_false(hear_within(NS_PER_S / 2));
    say_ack(got.number);
    router = back;
    greet();
    take_opening(decoder);
    take_records(decoder, 4, 5);
    zmq->router_close(&second);
}

/* More than the journal keeps. */
static void a_gap_is_told_once(void **state)
{
    (void)state;
    struct uplink_figures figures;
    struct batch batch;
    start_with(0); /* whose cursor is at the beginning */
    hear(MESSAGE_HELLO);
    for (int i = 0; i < 80; i++) {
        feed(1000);
        journal_maintain(journal, clock_realtime_ns());
    }
    struct journal_figures kept;
    journal_figures(journal, &kept);
    assert_true(kept.lost_records > 0);
    say_welcome(1, 0);
    take_opening(decoder); /* of nothing: all that is known of the time before is gone */
    batch_init(&batch);
    take_record(decoder, kept.lost_records, &batch);
    assert_int_equal(batch.count, 0);
    assert_int_equal(batch.gap_count, 1);
    assert_int_equal(batch.gaps[0].batches, kept.lost_records);
    assert_string_equal(batch.gaps[0].reason, "journal full");
    batch_clear(&batch);
    say_ack(got.number);
    for (uint64_t at = kept.lost_records + 1; at <= fed; at++) {
        take_records(decoder, at, at);
        if (at % 100 == 0 || at == fed)
            say_ack(got.number);
    }
    assert_true(comes_true(all_is_acked, &figures));
}

static void closing_waits_for_the_last_acknowledgement(void **state)
{
    (void)state;
    struct uplink_figures figures;
    start_with(0);
    greet();
    hear_within(100 * NS_PER_MS);
    feed(5);
    take_opening(decoder);
    take_records(decoder, 1, 5);
    say_ack(got.number);
    uplink_close(&uplink, WAIT_NS);
    start_with(0);
    greet();
    assert_false(hear_within(300 * NS_PER_MS));
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

static void keys_are_read_again(void **state)
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
    take_opening(decoder);
    take_records(decoder, 1, 1);
    say_ack(got.number);
    assert_true(comes_true(all_is_acked, &figures));
    uplink_reload(uplink); /* nothing has changed: it stays */
    feed(1);
    take_records(decoder, 2, 2);
    assert_int_equal(keys_write(path, &wrong, true, &error), OK);
    uplink_reload(uplink);
    greet();
    assert_string_equal(peer.key, wrong.public_key);
}

static void settings_that_make_no_sense(void **state)
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
        TEST(records_go_up_and_are_acknowledged),
        TEST(a_new_connection_begins_behind_the_last_acknowledgement),
        TEST(a_restart_goes_on_where_it_was),
        TEST(many_segments),
        TEST(no_more_than_a_window_is_on_its_way),
        TEST(who_is_silent_is_left),
        TEST(an_idle_line_is_pinged),
        TEST(a_refusal_is_told),
        TEST(a_newer_collector_is_understood_or_told),
        TEST(a_collector_that_speaks_another_version_only),
        TEST(what_an_old_collector_cannot_read_is_counted),
        TEST(noise_ends_the_connection_only),
        TEST(asked_to_it_says_hello_again),
        TEST(the_next_of_the_list_is_taken),
        TEST(when_the_first_is_back_it_is_taken_again),
        TEST(a_gap_is_told_once),
        TEST(closing_waits_for_the_last_acknowledgement),
        TEST(keys_are_read_again),
        TEST(settings_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
