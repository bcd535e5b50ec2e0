/* The journal: one writer, several readers, and reopening after all kinds of ends. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"

#include <poll.h>
#include <sys/wait.h>

static bool is_readable(const struct journal_reader *reader)
{
    struct pollfd poll_fd = { .fd = journal_reader_fd(reader), .events = POLLIN };
    return poll(&poll_fd, 1, 0) == 1;
}

static void entries_are_read_back_unchanged(void **state)
{
    (void)state;
    open_journal();
    append_many("node1", 7, 3);
    struct journal_reader *reader = open_reader("sink");
    struct journal_entry entry;
    assert_int_equal(journal_reader_next(reader, &entry), OK);
    assert_int_equal(entry.kind, JOURNAL_SNAPSHOT);
    assert_string_equal(entry.host, "node1");
    assert_int_equal(entry.sequence, 0);
    assert_body(&entry);
    uint64_t position = entry.position;
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        assert_int_equal(journal_reader_next(reader, &entry), OK);
        assert_int_equal(entry.kind, JOURNAL_RECORD);
        assert_int_equal(entry.sequence, sequence);
        assert_true(entry.is_new);
        assert_true(entry.position > position);
        assert_body(&entry);
        position = entry.position;
    }
    assert_int_equal(journal_reader_next(reader, &entry), AGAIN);
    journal_reader_close(&reader);
}

static void empty_and_large_bodies(void **state)
{
    (void)state;
    open_journal();
    size_t size = 3u << 20;
    char *large = malloc(size);
    for (size_t i = 0; i < size; i++)
        large[i] = (char)(i * 7 + i / 251);
    struct journal_entry put = { .kind = JOURNAL_SNAPSHOT, .host = "h", .stream = 1 }, got;
    assert_int_equal(journal_append(journal, &put), OK);
    put = (struct journal_entry){ .kind = JOURNAL_RECORD, .host = "h", .stream = 1, .sequence = 1, .body = { large, size } };
    assert_int_equal(journal_append(journal, &put), OK);
    struct journal_reader *reader = open_reader("sink");
    assert_int_equal(journal_reader_next(reader, &got), OK);
    assert_int_equal(got.body.size, 0);
    assert_int_equal(journal_reader_next(reader, &got), OK);
    assert_int_equal(got.body.size, size);
    assert_memory_equal(got.body.data, large, size);
    journal_reader_close(&reader);
    free(large);
}

static void invalid_entries_are_refused(void **state)
{
    (void)state;
    open_journal();
    char long_host[300];
    memset(long_host, 'x', sizeof long_host - 1);
    long_host[sizeof long_host - 1] = '\0';
    assert_int_equal(append(JOURNAL_SNAPSHOT, long_host, 1, 0), USAGE);
    assert_int_equal(append(JOURNAL_SNAPSHOT, "", 1, 0), USAGE);
    assert_int_equal(append(JOURNAL_GAP, "h", 1, 1), USAGE);
    assert_int_equal(append(JOURNAL_RECORD, "h", 1, 1), USAGE); /* without a snapshot */
    assert_int_equal(append(JOURNAL_SNAPSHOT, "h", 1, 4), OK);
    assert_int_equal(append(JOURNAL_RECORD, "h", 1, 6), USAGE); /* 5 is missing */
    assert_int_equal(append(JOURNAL_RECORD, "h", 1, 5), OK);
    assert_int_equal(append(JOURNAL_SNAPSHOT, "h", 1, 4), USAGE); /* older than the newest record */
    assert_int_equal(append(JOURNAL_SNAPSHOT, "h", 1, 9), OK);    /* some were lost on the way */
    assert_int_equal(append(JOURNAL_RECORD, "h", 1, 10), OK);
    assert_int_equal(figures().entries, 4);
}

static void duplicate_records_are_ignored(void **state)
{
    (void)state;
    open_journal();
    append_many("h", 1, 3);
    uint64_t position = figures().position;
    assert_int_equal(append(JOURNAL_RECORD, "h", 1, 2), OK);
    assert_int_equal(append(JOURNAL_RECORD, "h", 1, 3), OK);
    assert_int_equal(figures().position, position);
    assert_int_equal(append(JOURNAL_RECORD, "h", 1, 4), OK);
    assert_true(figures().position > position);
}

static void streams_are_distinguished_by_host_and_id(void **state)
{
    (void)state;
    open_journal();
    assert_true(journal_needs_snapshot(journal, "a", 1));
    append_many("a", 1, 3);
    append_many("b", 1, 2);
    append_many("a", 2, 1);
    assert_false(journal_needs_snapshot(journal, "a", 1));
    assert_int_equal(journal_last_sequence(journal, "a", 1), 3);
    assert_int_equal(journal_last_sequence(journal, "b", 1), 2);
    assert_int_equal(journal_last_sequence(journal, "a", 2), 1);
    assert_int_equal(journal_last_sequence(journal, "b", 2), 0);
    assert_true(journal_needs_snapshot(journal, "b", 2));
}

static void a_new_segment_needs_snapshots(void **state)
{
    (void)state;
    settings.segment_bytes = 1000;
    open_journal();
    append_many("a", 1, 1);
    uint64_t states = 0, segments = figures().segments;
    for (int i = 0; i < 100; i++) {
        states += journal_needs_snapshot(journal, "a", 1);
        assert_int_equal(append_next("a", 1), OK);
    }
    assert_true(figures().segments > segments + 3);
    assert_true(states >= figures().segments - 2 && states <= figures().segments);
    struct journal_reader *reader = open_reader("sink");
    read_records(reader, 1, 1, 101, true);
    journal_reader_close(&reader);
}

static void a_record_is_in_the_segment_of_its_snapshot(void **state)
{
    (void)state;
    settings.segment_bytes = 1;
    open_journal();
    for (int i = 0; i < 5; i++) {
        assert_true(journal_needs_snapshot(journal, "a", 1));
        assert_int_equal(append(JOURNAL_SNAPSHOT, "a", 1, (uint64_t)i), OK);
        journal_maintain(journal, 1);
        assert_false(journal_needs_snapshot(journal, "a", 1));
        assert_int_equal(append(JOURNAL_RECORD, "a", 1, (uint64_t)i + 1), OK);
    }
    assert_int_equal(figures().segments, 6);
}

static void all_entries_survive_a_restart(void **state)
{
    (void)state;
    settings.segment_bytes = 2000;
    open_journal();
    append_many("a", 1, 50);
    append_many("b", 2, 50);
    struct journal_figures before = figures();
    reopen_journal();
    assert_int_equal(figures().entries, before.entries);
    assert_int_equal(figures().bytes, before.bytes);
    assert_int_equal(figures().segments, before.segments);
    assert_int_equal(figures().oldest_ns, before.oldest_ns);
    assert_int_equal(figures().damaged_bytes, 0);
    assert_int_equal(journal_last_sequence(journal, "a", 1), 50);
    append_many("b", 2, 10);
    struct journal_reader *reader = open_reader("sink");
    read_records(reader, 1, 1, 50, true);
    read_records(reader, 2, 1, 60, true);
    journal_reader_close(&reader);
}

static void undelivered_entries_cannot_be_acknowledged(void **state)
{
    (void)state;
    open_journal();
    append_many("a", 1, 10);
    struct journal_reader *reader = open_reader("sink");
    read_records(reader, 1, 1, 4, false);
    journal_reader_ack(reader, UINT64_MAX);
    journal_reader_close(&reader);
    reader = open_reader("sink");
    read_records(reader, 1, 5, 10, true);
    journal_reader_close(&reader);
}

static void a_reader_continues_after_its_last_acknowledgement(void **state)
{
    (void)state;
    settings.segment_bytes = 1000;
    open_journal();
    append_many("a", 1, 40);
    struct journal_reader *reader = open_reader("sink");
    read_records(reader, 1, 1, 25, true);
    read_records(reader, 1, 26, 35, false);
    journal_reader_close(&reader);
    reader = open_reader("sink");
    read_records(reader, 1, 26, 27, true);
    journal_reader_close(&reader);
    reopen_journal();
    reader = open_reader("sink");
    read_records(reader, 1, 28, 40, true);
    struct journal_entry entry;
    assert_int_equal(next_new(reader, &entry), AGAIN);
    journal_reader_close(&reader);
}

/* Acknowledged entries are delivered again with is_new false, so that the state can be rebuilt. */
static void the_state_can_be_rebuilt_where_a_reader_starts(void **state)
{
    (void)state;
    settings.segment_bytes = 1000;
    open_journal();
    append_many("a", 1, 8);
    append_many("b", 2, 30);
    struct journal_reader *reader = open_reader("sink");
    read_records(reader, 1, 1, 8, true);
    read_records(reader, 2, 1, 17, true);
    journal_reader_close(&reader);
    reader = open_reader("sink");
    struct journal_entry entry;
    uint64_t next = 0;
    while (journal_reader_next(reader, &entry) == OK) {
        bool is_new_snapshot = entry.kind == JOURNAL_SNAPSHOT && next > 17;
        assert_int_equal(entry.is_new, entry.stream == 2 && (entry.sequence > 17 || is_new_snapshot));
        if (entry.stream != 2)
            continue;
        if (entry.kind == JOURNAL_SNAPSHOT)
            next = entry.sequence + 1;
        else
            assert_int_equal(entry.sequence, next++);
    }
    assert_int_equal(next, 31);
    journal_reader_close(&reader);
}

static void a_reader_may_keep_its_own_position(void **state)
{
    (void)state;
    settings.segment_bytes = 1000;
    open_journal();
    append_many("a", 1, 40);
    struct journal_reader *reader = open_reader("sink");
    struct journal_entry entry;
    do
        assert_int_equal(next_new(reader, &entry), OK);
    while (entry.sequence < 30);
    uint64_t position = entry.position;
    journal_reader_close(&reader);
    assert_int_equal(journal_reader_open(journal, &reader, "sink", true, position), OK);
    read_records(reader, 1, 31, 40, true);
    journal_reader_close(&reader);
    assert_int_equal(journal_reader_open(journal, &reader, "sink", true, position + (1ull << 40)), OK);
    assert_int_equal(next_new(reader, &entry), AGAIN);
    append_many("a", 1, 1);
    read_records(reader, 1, 41, 41, true);
    journal_reader_close(&reader);
}

static void a_new_reader_starts_at_either_end(void **state)
{
    (void)state;
    open_journal();
    append_many("a", 1, 5);
    struct journal_reader *late, *early = open_reader("early");
    assert_int_equal(journal_reader_open(journal, &late, "late", false, 0), OK);
    struct journal_entry entry;
    assert_int_equal(next_new(late, &entry), AGAIN);
    append_many("a", 1, 2);
    read_records(late, 1, 6, 7, true);
    read_records(early, 1, 1, 7, true);
    journal_reader_close(&late);
    journal_reader_close(&early);
}

static void readers_are_independent(void **state)
{
    (void)state;
    open_journal();
    struct journal_reader *one = open_reader("one"), *other = open_reader("tcp://h:5555/x y"), *third;
    assert_int_equal(journal_reader_open(journal, &third, "one", true, 0), AGAIN);
    append_many("a", 1, 10);
    read_records(one, 1, 1, 10, true);
    read_records(other, 1, 1, 3, true);
    assert_int_equal(journal_reader_lag_bytes(one), 0);
    assert_true(journal_reader_lag_bytes(other) > 0);
    assert_int_equal(journal_reader_lag_ns(one, 100 * STEP_NS), 0);
    assert_in_range(journal_reader_lag_ns(other, 100 * STEP_NS), 96 * STEP_NS, 97 * STEP_NS);
    read_records(other, 1, 4, 6, false);
    assert_int_equal(journal_reader_lag_ns(other, 100 * STEP_NS), 96 * STEP_NS);
    journal_reader_close(&one);
    journal_reader_close(&other);
    reopen_journal();
    other = open_reader("tcp://h:5555/x y");
    read_records(other, 1, 4, 10, true);
    journal_reader_close(&other);
    assert_int_equal(journal_reader_open(journal, &other, "", true, 0), USAGE);
}

static void a_reader_is_woken(void **state)
{
    (void)state;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    struct journal_entry entry;
    assert_int_equal(next_new(reader, &entry), AGAIN);
    assert_false(is_readable(reader));
    append_many("a", 1, 2);
    assert_true(is_readable(reader));
    read_records(reader, 1, 1, 2, true);
    assert_false(is_readable(reader));
    assert_int_equal(next_new(reader, &entry), AGAIN);
    append_many("a", 1, 1);
    assert_true(is_readable(reader));
    journal_reader_close(&reader);
}

static void readers_can_be_limited_to_synced_entries(void **state)
{
    (void)state;
    settings.after_sync = true;
    settings.segment_bytes = 500;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    struct journal_entry entry;
    append_many("a", 1, 10);
    assert_int_equal(next_new(reader, &entry), AGAIN);
    assert_false(is_readable(reader));
    assert_int_equal(journal_sync(journal), OK);
    assert_true(is_readable(reader));
    append_many("a", 1, 10);
    read_records(reader, 1, 1, 10, true);
    assert_int_equal(next_new(reader, &entry), AGAIN);
    assert_int_equal(journal_sync(journal), OK);
    read_records(reader, 1, 11, 20, true);
    journal_reader_close(&reader);
    append_many("a", 1, 5);
    reopen_journal();
    reader = open_reader("sink");
    read_records(reader, 1, 21, 25, true);
    journal_reader_close(&reader);
}

static void acknowledged_segments_are_deleted(void **state)
{
    (void)state;
    settings.segment_bytes = 1000;
    open_journal();
    struct journal_reader *one = open_reader("one"), *other = open_reader("other");
    append_many("a", 1, 100);
    uint64_t segments = figures().segments;
    read_records(one, 1, 1, 100, true);
    journal_maintain(journal, 1);
    assert_int_equal(figures().segments, segments);
    read_records(other, 1, 1, 50, true);
    journal_maintain(journal, 1);
    assert_in_range(figures().segments, 2, segments - 2);
    journal_reader_close(&other);
    journal_remove_cursor(journal, "other");
    journal_maintain(journal, 1);
    assert_in_range(figures().segments, 1, 2);
    assert_int_equal(figures().lost_records, 0);
    append_many("a", 1, 1);
    read_records(one, 1, 101, 101, true);
    journal_reader_close(&one);
}

/* The list of streams outlives the segments. */
static void the_last_sequence_outlives_its_segment(void **state)
{
    (void)state;
    settings.segment_bytes = 1000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_many("a", 1, 5);
    append_many("b", 2, 100);
    read_records(reader, 1, 1, 5, true);
    read_records(reader, 2, 1, 100, true);
    journal_maintain(journal, 1);
    journal_reader_close(&reader);
    reopen_journal();
    reopen_journal();
    assert_int_equal(journal_last_sequence(journal, "a", 1), 5);
    assert_int_equal(journal_last_sequence(journal, "b", 2), 100);
    assert_true(journal_needs_snapshot(journal, "a", 1));
    assert_int_equal(append(JOURNAL_RECORD, "a", 1, 5), OK);
    assert_true(figures().entries < 20);
}

/* Acknowledged entries do not stay on a node's disk, even though a segment may become much larger. */
static void a_journal_without_lag_stays_small(void **state)
{
    (void)state;
    char body[4096] = { 0 };
    open_journal();
    struct journal_reader *reader = open_reader("uplink");
    struct journal_entry entry, put = { .kind = JOURNAL_RECORD, .host = "h", .stream = 1, .body = { body, sizeof body } };
    for (put.sequence = 1; put.sequence <= 5000; put.sequence++) {
        if (journal_needs_snapshot(journal, "h", 1))
            append(JOURNAL_SNAPSHOT, "h", 1, put.sequence - 1);
        assert_int_equal(journal_append(journal, &put), OK);
        while (journal_reader_next(reader, &entry) == OK)
            journal_reader_ack(reader, entry.position);
        if (put.sequence % 10 == 0)
            journal_maintain(journal, put.sequence * STEP_NS);
        assert_true(figures().bytes < 3u << 20);
    }
    journal_reader_close(&reader);
}

static void a_second_process_cannot_open_it(void **state)
{
    (void)state;
    open_journal();
    struct journal *other;
    struct buf error;
    buf_init(&error, 1024);
    assert_int_equal(journal_open(&other, dir, NULL, &error), AGAIN);
    assert_null(other);
    assert_non_null(strstr(buf_text(&error), "another process"));
    buf_clear(&error);
    journal_close(&journal);
    open_journal();
}

static void an_impossible_directory_is_reported(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    temp_join(path, dir, "file");
    temp_write(path, "", 0);
    struct journal *other;
    struct buf error;
    buf_init(&error, 1024);
    assert_int_not_equal(journal_open(&other, path, NULL, &error), OK);
    assert_non_null(strstr(buf_text(&error), path));
    buf_clear(&error);
    temp_join(path, dir, "made/on/the/way");
    buf_init(&error, 1024);
    assert_int_equal(journal_open(&other, path, NULL, &error), OK);
    journal_close(&other);
    buf_clear(&error);
}

static bool is_kept(const void *context, const char *name)
{
    return strcmp(name, context) == 0;
}

static void unwanted_cursors_are_removed(void **state)
{
    (void)state;
    static const char *const names[] = { "old", "kept", "open" };
    struct journal_reader *readers[3];
    open_journal();
    for (int i = 0; i < 3; i++)
        readers[i] = open_reader(names[i]);
    journal_reader_close(&readers[0]);
    journal_reader_close(&readers[1]);
    for (int i = 0; i < 10; i++)
        assert_int_equal(append_next("a", 1), OK);
    journal_remove_unwanted_cursors(journal, is_kept, "kept");
    readers[0] = open_reader("old"); /* like a new one: from the oldest entry */
    for (int i = 0; i < 3; i += 2) {
        struct journal_entry entry;
        assert_int_equal(next_new(readers[i], &entry), OK);
        assert_int_equal(entry.sequence, 1);
    }
    journal_reader_close(&readers[0]);
    journal_reader_close(&readers[2]);
    char path[TEMP_PATH_MAX];
    temp_join(path, dir, "kept.cursor");
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, journal_teardown)
    const struct CMUnitTest tests[] = {
        TEST(entries_are_read_back_unchanged),
        TEST(unwanted_cursors_are_removed),
        TEST(empty_and_large_bodies),
        TEST(invalid_entries_are_refused),
        TEST(duplicate_records_are_ignored),
        TEST(streams_are_distinguished_by_host_and_id),
        TEST(a_new_segment_needs_snapshots),
        TEST(a_record_is_in_the_segment_of_its_snapshot),
        TEST(all_entries_survive_a_restart),
        TEST(undelivered_entries_cannot_be_acknowledged),
        TEST(a_reader_continues_after_its_last_acknowledgement),
        TEST(the_state_can_be_rebuilt_where_a_reader_starts),
        TEST(a_reader_may_keep_its_own_position),
        TEST(a_new_reader_starts_at_either_end),
        TEST(readers_are_independent),
        TEST(a_reader_is_woken),
        TEST(readers_can_be_limited_to_synced_entries),
        TEST(acknowledged_segments_are_deleted),
        TEST(the_last_sequence_outlives_its_segment),
        TEST(a_journal_without_lag_stays_small),
        TEST(a_second_process_cannot_open_it),
        TEST(an_impossible_directory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
