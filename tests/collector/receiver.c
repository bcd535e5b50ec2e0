/* The receiver: valid messages, what protocol violations cost, and what is stored: each record once, and in order. */
#include "tools/unit.h"

#include "base/clock.h"
#include "sinks/stream_decoders.h"
#include "tools/caught.h"
#include "tools/fake_agent.h"

#include <stdlib.h>

struct fixture {
    char dir[TEMP_PATH_MAX];
    struct journal *journal;
    struct receiver receiver;
    struct fake_agent one, two;
};

static void open_all(struct fixture *f)
{
    struct buf error;
    buf_init(&error, 1024);
    assert_int_equal(journal_open(&f->journal, f->dir, NULL, &error), OK);
    struct receiver_settings settings = { .journal = f->journal, .dir = f->dir, .host = "here",
                                          .send = fake_agent_receive };
    assert_int_equal(receiver_open(&f->receiver, &settings, &error), OK);
    buf_clear(&error);
}

static void close_all(struct fixture *f)
{
    receiver_close(&f->receiver);
    journal_close(&f->journal);
}

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ 0 };
    temp_dir(f.dir);
    open_all(&f);
    fake_agent_init(&f.one, 1, "n1");
    fake_agent_init(&f.two, 2, "n2");
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    fake_agent_clear(&f->one);
    fake_agent_clear(&f->two);
    close_all(f);
    temp_remove(f->dir);
    return 0;
}

static void commit(struct fixture *f)
{
    if (receiver_begin_sync(&f->receiver))
        receiver_end_sync(&f->receiver, journal_sync(f->journal) == OK);
}

/* What a sink would get: the first value of each sample, "1,2,3,"; a gap is "gap N,". */
static const char *stored(struct fixture *f, const char *host)
{
    static struct buf text;
    struct journal_reader *reader;
    struct journal_entry entry;
    struct stream_decoders *channels;
    const struct batch *batch;
    enum err err;
    buf_init(&text, 65536);
    journal_sync(f->journal);
    assert_int_equal(journal_reader_open(f->journal, &reader, "test", true, 0), OK);
    assert_int_equal(stream_decoders_new(&channels), OK);
    while ((err = journal_reader_next(reader, &entry)) != AGAIN) {
        assert_int_equal(err, OK);
        assert_int_equal(stream_decoders_decode(channels, &entry, &batch), OK);
        if (!batch || strcmp(batch->host, host) != 0)
            continue;
        for (size_t i = 0; i < batch->count; i++)
            buf_printf(&text, "%llu,", (unsigned long long)batch->samples[i].values[0].u64);
        for (size_t i = 0; i < batch->gap_count; i++)
            buf_printf(&text, "gap %llu,", (unsigned long long)batch->gaps[i].batches);
    }
    stream_decoders_free(&channels);
    journal_reader_close(&reader);
    static char copy[65536];
    snprintf(copy, sizeof copy, "%s", buf_text(&text));
    buf_clear(&text);
    return copy;
}

static void records_are_acknowledged_after_the_sync(void **state)
{
    struct fixture *f = *state;
    connect_agent(&f->receiver, &f->one);
    assert_true(has_received(&f->one, MESSAGE_WELCOME));
    send_next(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    assert_int_equal(f->one.acked, 0);
    assert_true(receiver_begin_sync(&f->receiver));
    send_next(&f->receiver, &f->one); /* received during a sync: acknowledged after the next one */
    receiver_end_sync(&f->receiver, true);
    assert_int_equal(f->one.acked, 5);
    commit(f);
    assert_int_equal(f->one.acked, 6);
    assert_false(receiver_begin_sync(&f->receiver));
    assert_string_equal(stored(f, "n1"), "1,2,3,");
    struct known_host *known_host = known_hosts_find(&f->receiver.known_hosts, bytes_of("n1"));
    assert_int_equal(known_host->records, 3);
    assert_int_equal(known_host->sample_ns, f->one.time_ns);
}

static void failed_sync_acknowledges_nothing(void **state)
{
    struct fixture *f = *state;
    connect_agent(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    assert_true(receiver_begin_sync(&f->receiver));
    receiver_end_sync(&f->receiver, false);
    assert_int_equal(f->one.acked, 0);
    commit(f);
    assert_int_equal(f->one.acked, 4);
}

static void duplicate_records_are_stored_once(void **state)
{
    struct fixture *f = *state;
    connect_agent(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    struct fake_agent *one = &f->one;
    struct buf snapshot;
    buf_init(&snapshot, 65536);
    stream_snapshot(one->encoder, &snapshot);
    send_next(&f->receiver, one);
    /* the connection broke before the acknowledgement: it starts after the first record and sends the second one again */
    send_hello(&f->receiver, one);
    send_open_for(&f->receiver, one, "n1");
    add_number(&one->body, 0);
    buf_add(&one->body, snapshot.data, snapshot.size);
    send_message(&f->receiver, one, MESSAGE_STATE);
    send_record(&f->receiver, one, 2);
    send_next(&f->receiver, one);
    commit(f);
    assert_int_equal(one->acked, 5);
    assert_string_equal(stored(f, "n1"), "1,2,3,");
    assert_int_equal(f->receiver.figures.duplicates, 1);
    buf_clear(&snapshot);
}

static void continues_after_a_restart(void **state)
{
    struct fixture *f = *state;
    connect_agent(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    commit(f);
    close_all(f);
    open_all(f);
    send_next(&f->receiver, &f->one); /* it does not know of the restart */
    assert_true(has_received(&f->one, MESSAGE_AGAIN));
    struct known_host *known_host = known_hosts_find(&f->receiver.known_hosts, bytes_of("n1"));
    assert_non_null(known_host);
    assert_true(known_host->last_received_ns > 0);
    send_hello(&f->receiver, &f->one);
    send_open_for(&f->receiver, &f->one, "n1");
    send_state(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one); /* 3; nothing is sending 2: it is missing */
    assert_int_equal(known_host->missing, 1);
    assert_string_equal(stored(f, "n1"), "1,3,");
}

static void skipped_records_may_arrive_by_another_way(void **state)
{
    struct fixture *f = *state;
    f->one.role = f->two.role = "collector";
    f->two.stream = f->one.stream;
    send_hello(&f->receiver, &f->one);
    send_hello(&f->receiver, &f->two);
    send_open_for(&f->receiver, &f->one, "n9");
    send_open_for(&f->receiver, &f->two, "n9");
    send_state(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    send_state(&f->receiver, &f->two); /* two has not received the first */
    f->two.sequence = 5;
    send_next(&f->receiver, &f->two);
    send_next(&f->receiver, &f->two);
    struct known_host *known_host = known_hosts_find(&f->receiver.known_hosts, bytes_of("n9"));
    assert_int_equal(known_host->missing, 4);
    send_next(&f->receiver, &f->one); /* 2 */
    send_next(&f->receiver, &f->two); /* 8 */
    send_next(&f->receiver, &f->one); /* 3 */
    assert_int_equal(known_host->missing, 2);
    close_all(f);
    open_all(f);
    known_host = known_hosts_find(&f->receiver.known_hosts, bytes_of("n9"));
    assert_int_equal(known_host->missing, 2);
    f->one.sequence = 1; /* after the restart once more from the second on, to the end */
    f->one.stream = f->two.stream;
    stream_free(&f->one.encoder);
    assert_int_equal(stream_new(&f->one.encoder), OK);
    f->one.time_ns = 1000000000000;
    f->one.number = 0;
    send_hello(&f->receiver, &f->one);
    send_open_for(&f->receiver, &f->one, "n9");
    send_state(&f->receiver, &f->one);
    for (int i = 0; i < 5; i++)
        send_next(&f->receiver, &f->one); /* 2 to 6: of these 4 and 5 are new */
    assert_string_equal(stored(f, "n9"), "1,6,7,2,8,3,4,5,");
    assert_int_equal(known_host->missing, 0);
}

static void two_agents_with_one_host_name(void **state)
{
    struct fixture *f = *state;
    f->two.host = "n1";
    connect_agent(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    catch_stderr();
    send_hello(&f->receiver, &f->two);
    assert_non_null(strstr(caught_text(), "another agent with the host name n1 is connected from 10.0.0.1"));
    assert_true(has_received(&f->two, MESSAGE_REFUSE));
    assert_non_null(strstr(f->two.error, "another agent with the host name n1 is connected"));
    send_next(&f->receiver, &f->one); /* the first one continues */
    commit(f);
    assert_int_equal(f->one.acked, 5);
    assert_string_equal(stored(f, "n1"), "1,2,");
    f->one.is_gone = true; /* its connection is broken: then the other one is accepted */
    f->two.number = 0;
    fake_agent_clear(&f->two);
    fake_agent_init(&f->two, 3, "n1");
    send_hello(&f->receiver, &f->two);
    assert_true(has_received(&f->two, MESSAGE_WELCOME));
}

static void agent_and_collector_of_one_host(void **state)
{
    struct fixture *f = *state;
    f->two.host = "n1";
    f->two.role = "collector";
    send_hello(&f->receiver, &f->one);
    send_hello(&f->receiver, &f->two);
    assert_true(has_received(&f->one, MESSAGE_WELCOME));
    assert_true(has_received(&f->two, MESSAGE_WELCOME));
}

/* Sends something invalid; the other agent is unaffected. */
static void costs_its_connection(struct fixture *f, const char *error)
{
    assert_true(has_received(&f->two, MESSAGE_REFUSE));
    if (!strstr(f->two.error, error))
        fail_msg("'%s' is not '%s'", f->two.error, error);
    size_t received = f->two.received_count;
    send_next(&f->receiver, &f->two);
    assert_int_equal(f->two.received_count, received); /* it is ignored from now on */
    send_next(&f->receiver, &f->one);
    commit(f);
    assert_int_equal(f->one.acked, f->one.number);
}

static void check_refused(struct fixture *f, void (*say)(struct fixture *f), const char *error)
{
    connect_agent(&f->receiver, &f->one);
    connect_agent(&f->receiver, &f->two);
    catch_stderr();
    say(f);
    costs_its_connection(f, error);
    caught_text();
}

static void send_garbage(struct fixture *f)
{
    struct zmq_peer peer = peer_of(&f->two);
    receiver_handle(&f->receiver, &peer, bytes_of("GET / HTTP/1.1\r\n\r\n"));
}

static void send_again(struct fixture *f)
{
    struct zmq_peer peer = peer_of(&f->two);
    send_next(&f->receiver, &f->two);
    receiver_handle(&f->receiver, &peer, (struct bytes){ f->two.out.data, f->two.out.size });
}

static void send_without_state(struct fixture *f)
{
    send_open_for(&f->receiver, &f->two, "n2");
    f->two.sequence = 4;
    send_next(&f->receiver, &f->two);
}

static void send_unopened(struct fixture *f)
{
    add_number(&f->two.body, 77);
    add_number(&f->two.body, 1);
    send_message(&f->receiver, &f->two, MESSAGE_RECORD);
}

static void send_for_another(struct fixture *f) { send_open_for(&f->receiver, &f->two, "n1"); }

static void send_bad_state(struct fixture *f)
{
    add_number(&f->two.body, 0);
    buf_add_text(&f->two.body, "no state");
    send_message(&f->receiver, &f->two, MESSAGE_STATE);
}

static void invalid_message_is_refused(void **state) { check_refused(*state, send_garbage, "does not use Sonde's protocol"); }
static void repeated_message_is_refused(void **state) { check_refused(*state, send_again, "came after"); }
static void record_without_state_is_refused(void **state) { check_refused(*state, send_without_state, "has no state"); }
static void record_without_stream_is_refused(void **state) { check_refused(*state, send_unopened, "not open"); }

static void sending_for_another_host_is_refused(void **state)
{
    check_refused(*state, send_for_another, "may send only for n2");
}

static void invalid_state_is_refused(void **state) { check_refused(*state, send_bad_state, "cannot decode the state"); }

static void undecodable_record_is_skipped(void **state)
{
    struct fixture *f = *state;
    connect_agent(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    encode_record(&f->one);
    catch_stderr();
    add_number(&f->one.body, 0);
    add_number(&f->one.body, 2);
    buf_add_text(&f->one.body, "\x7f rubbish");
    send_message(&f->receiver, &f->one, MESSAGE_RECORD);
    caught_text();
    assert_true(has_received(&f->one, MESSAGE_CANNOT));
    assert_false(has_received(&f->one, MESSAGE_REFUSE));
    commit(f);
    assert_int_equal(f->one.acked, 5); /* otherwise it would be sent forever */
    send_state(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    assert_string_equal(stored(f, "n1"), "1,3,");
    assert_int_equal(f->receiver.figures.unreadable, 1);
}

static void keys_are_bound_to_host_names(void **state)
{
    struct fixture *f = *state;
    f->one.name = "n7";
    catch_stderr();
    send_hello(&f->receiver, &f->one);
    caught_text();
    assert_non_null(strstr(f->one.error, "its key belongs to n7, but its host name is n1"));
    assert_null(known_hosts_find(&f->receiver.known_hosts, bytes_of("n1")));
    f->two.role = "collector";
    f->two.name = "n2"; /* a key for one host does not make a collector */
    send_hello(&f->receiver, &f->two);
    catch_stderr();
    send_open_for(&f->receiver, &f->two, "n3");
    caught_text();
    assert_non_null(strstr(f->two.error, "a collector needs a key with the name *"));
}

static void newer_protocol_is_refused(void **state)
{
    struct fixture *f = *state;
    f->one.version_min = MESSAGE_VERSION + 1;
    catch_stderr();
    send_hello(&f->receiver, &f->one);
    caught_text();
    assert_non_null(strstr(f->one.error, "Update the collector first"));
    connect_agent(&f->receiver, &f->two);
    buf_add_text(&f->two.body, "of the future");
    send_message(&f->receiver, &f->two, (enum message_kind)77);
    assert_true(has_received(&f->two, MESSAGE_CANNOT));
    send_next(&f->receiver, &f->two);
    assert_string_equal(stored(f, "n2"), "1,");
}

static void gap_is_stored_and_counted(void **state)
{
    struct fixture *f = *state;
    struct batch_gap gap = { 100, 200, 40, "spool full" };
    struct batch batch = { .gaps = &gap, .gap_count = 1 };
    struct delta_stream *empty;
    connect_agent(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    assert_int_equal(stream_new(&empty), OK);
    buf_reset(&f->one.record);
    assert_int_equal(stream_encode(empty, &batch, &f->one.record), OK);
    stream_free(&empty);
    send_record(&f->receiver, &f->one, 41);
    f->one.sequence = 41;
    send_state(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    struct known_host *known_host = known_hosts_find(&f->receiver.known_hosts, bytes_of("n1"));
    assert_int_equal(known_host->lost, 40);
    assert_int_equal(known_host->missing, 0);
    assert_string_equal(known_host->gap_reason, "spool full");
    assert_string_equal(stored(f, "n1"), "1,gap 40,42,");
}

static void clock_a_day_ahead(void **state)
{
    struct fixture *f = *state;
    uint64_t now_ns = clock_realtime_ns();
    f->one.hello_ns = now_ns + 86400ull * 1000000000u;
    f->one.time_ns = f->one.hello_ns;
    catch_stderr();
    connect_agent(&f->receiver, &f->one);
    assert_non_null(strstr(caught_text(), "the clock of n1 is 1 d 00 h ahead"));
    send_next(&f->receiver, &f->one);
    struct known_host *known_host = known_hosts_find(&f->receiver.known_hosts, bytes_of("n1"));
    assert_true(known_host->clock_ahead_ns > 86000ll * 1000000000 && known_host->clock_ahead_ns < 87000ll * 1000000000);
    assert_false(known_host_is_silent(known_host, now_ns));
    assert_string_equal(stored(f, "n1"), "1,");
    catch_stderr();
    f->one.time_ns = now_ns; /* the clock is corrected */
    send_next(&f->receiver, &f->one);
    assert_non_null(strstr(caught_text(), "the clock of n1 was set back by 1 d 00 h"));
    assert_true(known_host->clock_ahead_ns > -600ll * 1000000000 && known_host->clock_ahead_ns < 600ll * 1000000000);
    assert_true(known_host->sample_ns < now_ns + 600ull * 1000000000u);
    assert_string_equal(stored(f, "n1"), "1,2,");
}

static void send_piece(struct fixture *f, const char *data, size_t size)
{
    struct batch_piece piece = { .name = "r", .uid = 1000, .total = size, .data = { data, size } };
    struct batch batch = { .piece = &piece };
    buf_reset(&f->one.record);
    assert_int_equal(stream_encode(f->one.encoder, &batch, &f->one.record), OK);
    add_number(&f->one.body, 0);
    add_number(&f->one.body, ++f->one.sequence);
    buf_add(&f->one.body, f->one.record.data, f->one.record.size);
    send_message(&f->receiver, &f->one, MESSAGE_RECORD);
}

/* Sinks are far behind: runs of users take half of the journal at most, and samples go on. */
static void runs_do_not_displace_samples(void **state)
{
    struct fixture *f = *state;
    static char data[200000];
    struct journal_figures figures;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(rand() >> 7);
    journal_set_limits(f->journal, 4 << 20, 0);
    connect_agent(&f->receiver, &f->one);
    send_next(&f->receiver, &f->one);
    catch_stderr();
    for (int i = 0; i < 30; i++)
        send_piece(f, data, sizeof data);
    assert_non_null(strstr(caught_text(), "dropped a run of user 1000 of n1"));
    send_next(&f->receiver, &f->one);
    commit(f);
    journal_maintain(f->journal, clock_realtime_ns());
    journal_figures(f->journal, &figures);
    assert_in_range(figures.bytes, 2 << 20, (2 << 20) + 2 * sizeof data);
    assert_int_equal(figures.lost_records, 0);
    assert_true(f->receiver.figures.pieces_dropped >= 15);
    assert_string_equal(stored(f, "n1"), "1,32,"); /* their sequence numbers */
    assert_int_equal(f->one.acked, f->one.number);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(records_are_acknowledged_after_the_sync),
        TEST(failed_sync_acknowledges_nothing),
        TEST(duplicate_records_are_stored_once),
        TEST(continues_after_a_restart),
        TEST(skipped_records_may_arrive_by_another_way),
        TEST(two_agents_with_one_host_name),
        TEST(agent_and_collector_of_one_host),
        TEST(invalid_message_is_refused),
        TEST(repeated_message_is_refused),
        TEST(record_without_state_is_refused),
        TEST(record_without_stream_is_refused),
        TEST(sending_for_another_host_is_refused),
        TEST(invalid_state_is_refused),
        TEST(undecodable_record_is_skipped),
        TEST(keys_are_bound_to_host_names),
        TEST(newer_protocol_is_refused),
        TEST(gap_is_stored_and_counted),
        TEST(clock_a_day_ahead),
        TEST(runs_do_not_displace_samples),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
