/* What the sink kafka remembers to find out what is in a topic already: identities of messages, and places of partitions. */
#include "sinks/kafka/places.h"
#include "sinks/kafka/seen.h"

#include "tools/unit.h"
#include "journal/journal_blob.h"
#include "transport/kafka_envelope.h"

static struct kafka_identity row(const char *key, const char *body)
{
    return kafka_identity_of(false, bytes_of(key), bytes_of(body));
}

static void a_row_is_its_key_and_its_body(void **state)
{
    (void)state;
    struct kafka_seen seen;
    kafka_seen_init(&seen, 100);
    assert_false(kafka_seen_has(&seen, row("n1", "{\"sequence\": 1}")));
    assert_int_equal(kafka_seen_add(&seen, row("n1", "{\"sequence\": 1}")), OK);
    assert_true(kafka_seen_has(&seen, row("n1", "{\"sequence\": 1}")));
    assert_false(kafka_seen_has(&seen, row("n2", "{\"sequence\": 1}")));
    assert_false(kafka_seen_has(&seen, row("n1", "{\"sequence\": 2}")));
    assert_false(kafka_seen_has(&seen, row("n1{", "\"sequence\": 1}")));
    assert_false(kafka_seen_has(&seen, row("", "")));
    assert_int_equal(kafka_seen_add(&seen, kafka_identity_of(true, (struct bytes){ 0 }, (struct bytes){ 0 })), OK);
    kafka_seen_clear(&seen);
    assert_false(kafka_seen_has(&seen, row("n1", "{\"sequence\": 1}")));
}

static struct kafka_identity record(uint64_t sequence, uint64_t epoch, const char *content)
{
    struct buf out;
    struct parcel parcel = { .host = bytes_of("n1"), .stream = 7, .sequence = sequence, .epoch = epoch,
                             .record = bytes_of(content) };
    buf_init(&out, 4096);
    parcel_write(&out, &parcel);
    struct kafka_identity identity = kafka_identity_of(true, bytes_of("n1"), (struct bytes){ out.data, out.size });
    buf_clear(&out);
    return identity;
}

static void a_record_is_the_same_in_another_coding(void **state)
{
    (void)state;
    struct kafka_seen seen;
    kafka_seen_init(&seen, 100);
    assert_int_equal(kafka_seen_add(&seen, record(5, 1, "one")), OK);
    assert_true(kafka_seen_has(&seen, record(5, 2, "other")));
    assert_true(kafka_seen_has(&seen, kafka_identity_of_record(bytes_of("n1"), 7, 5)));
    assert_false(kafka_seen_has(&seen, record(6, 1, "one")));
    assert_false(kafka_seen_has(&seen, kafka_identity_of_record(bytes_of("n1"), 8, 5)));
    assert_false(kafka_seen_has(&seen, kafka_identity_of_record(bytes_of("n2"), 7, 5)));
    kafka_seen_clear(&seen);
}

static void the_set_grows_to_its_bound_and_forgets_nothing(void **state)
{
    (void)state;
    struct kafka_seen seen;
    kafka_seen_init(&seen, 20000);
    for (uint64_t n = 0; n < 20000; n++)
        assert_int_equal(kafka_seen_add(&seen, kafka_identity_of_record(bytes_of("n1"), 1, n)), OK);
    assert_int_equal(kafka_seen_add(&seen, kafka_identity_of_record(bytes_of("n1"), 1, 20000)), FULL);
    assert_int_equal(kafka_seen_add(&seen, kafka_identity_of_record(bytes_of("n1"), 1, 3)), OK); /* it is there */
    for (uint64_t n = 0; n < 20000; n++) {
        assert_true(kafka_seen_has(&seen, kafka_identity_of_record(bytes_of("n1"), 1, n)));
        assert_false(kafka_seen_has(&seen, kafka_identity_of_record(bytes_of("n1"), 2, n)));
    }
    assert_int_equal(seen.count, 20000);
    kafka_seen_clear(&seen);
}

static void fill(struct kafka_places *places)
{
    *places = (struct kafka_places){ .position = 11, .until = 22, .opening = 33 };
    assert_int_equal(kafka_places_add(places, "sonde.meminfo", 2, 100), OK);
    for (int i = 0; i < 40; i++) {
        char name[20];
        snprintf(name, sizeof name, "sonde.%d", i);
        assert_int_equal(kafka_places_add(places, name, 3, i), OK);
    }
    assert_int_equal(kafka_places_add(places, "sonde.meminfo", 4, KAFKA_PLACE_UNKNOWN), OK);
}

static void partitions_are_added_and_keep_their_places(void **state)
{
    (void)state;
    struct kafka_places places;
    fill(&places);
    struct kafka_places_topic *topic = kafka_places_find(&places, "sonde.meminfo");
    assert_int_equal(topic->count, 4);
    assert_true(topic->offsets[1] == 100 && topic->offsets[2] == KAFKA_PLACE_UNKNOWN);
    assert_int_equal(kafka_places_add(&places, "sonde.meminfo", 1, 5), OK); /* none goes */
    assert_int_equal(kafka_places_find(&places, "sonde.meminfo")->count, 4);
    assert_null(kafka_places_find(&places, "sonde.vmstat"));
    assert_int_equal(kafka_places_partitions(&places), 124);
    kafka_places_clear(&places);
    assert_null(kafka_places_find(&places, "sonde.meminfo"));
}

static void a_note_is_read_as_it_was_written_or_not_at_all(void **state)
{
    (void)state;
    struct kafka_places places, again = { 0 };
    struct buf note;
    fill(&places);
    buf_init(&note, 1 << 20);
    kafka_places_write(&places, &note);
    struct bytes whole = { note.data, note.size };
    assert_int_equal(kafka_places_read(&again, whole), OK);
    assert_true(again.position == 11 && again.until == 22 && again.opening == 33 && again.count == 41);
    assert_int_equal(kafka_places_find(&again, "sonde.7")->offsets[2], 7);
    /* what is cut between two topics is a shorter note; the file has a check against that */
    size_t good = 0;
    for (size_t size = 0; size < whole.size; size++) {
        enum err err = kafka_places_read(&again, (struct bytes){ whole.data, size });
        assert_true(err == OK || (err == CORRUPT && !again.count && !again.position));
        good += err == OK;
    }
    assert_int_equal(good, 41);
    kafka_places_clear(&again);
    kafka_places_clear(&places);
    buf_clear(&note);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_its_key_and_its_body),
        cmocka_unit_test(a_record_is_the_same_in_another_coding),
        cmocka_unit_test(the_set_grows_to_its_bound_and_forgets_nothing),
        cmocka_unit_test(partitions_are_added_and_keep_their_places),
        cmocka_unit_test(a_note_is_read_as_it_was_written_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
