/* The journal's files truncated and changed at every byte: intact entries are read, lost ones are counted, and no
 * record is delivered that builds on a lost one. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"

#define STREAMS 2

static char image[1 << 16];
static size_t image_size;
static char image_path[TEMP_PATH_MAX];
static uint64_t received[STREAMS]; /* records, by read_all */

/* Writes the segment with some change next to the other files; removes the cursor. */
static void put_image(const char *data, size_t size)
{
    char path[TEMP_PATH_MAX];
    temp_write(image_path, data, size);
    temp_join(path, dir, "sink.cursor");
    unlink(path);
}

static void keep_image(bool newest)
{
    image_size = segment_file(image_path, newest);
    int fd = open(image_path, O_RDONLY | O_CLOEXEC);
    assert_true(image_size < sizeof image);
    assert_int_equal(read(fd, image, image_size), image_size);
    close(fd);
}

/* Reads everything like a sink: each record must build on the previous one. Fills in the last sequence and the number
 * of lost records of each stream. Returns how often damage was reported. */
static unsigned read_all(struct journal_reader *reader, uint64_t last[STREAMS], uint64_t missing[STREAMS])
{
    struct journal_entry entry;
    unsigned damaged = 0;
    enum err err;
    uint64_t position = 0, next[STREAMS] = { 0 };
    for (int i = 0; i < STREAMS; i++)
        last[i] = missing[i] = received[i] = 0;
    while ((err = journal_reader_next(reader, &entry)) != AGAIN) {
        if (err == CORRUPT) {
            damaged++;
            continue;
        }
        assert_int_equal(err, OK);
        assert_true(entry.position > position);
        position = entry.position;
        assert_in_range(entry.stream, 1, STREAMS);
        size_t i = entry.stream - 1;
        if (entry.kind == JOURNAL_GAP) {
            assert_string_equal(entry.gap_reason, "damaged");
            missing[i] += entry.gap_records;
            continue;
        }
        assert_body(&entry);
        if (entry.kind == JOURNAL_RECORD) {
            assert_int_equal(entry.sequence, next[i]);
            last[i] = entry.sequence;
            received[i]++;
        }
        next[i] = entry.sequence + 1;
    }
    return damaged;
}

static void append_both(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        append_many("a", 1, 1);
        append_many("b", 2, 1);
    }
}

static void a_torn_tail_is_truncated(void **state)
{
    (void)state;
    open_journal();
    append_both(4);
    journal_close(&journal);
    keep_image(true);
    for (size_t size = 0; size < image_size; size++) {
        put_image(image, size);
        open_journal();
        uint64_t last = journal_last_sequence(journal, "a", 1), got[STREAMS], missing[STREAMS];
        struct journal_figures now = figures();
        assert_true(now.damaged_bytes < 64);
        append_many("a", 1, 3);
        struct journal_reader *reader = open_reader("sink");
        assert_int_equal(read_all(reader, got, missing), 0);
        assert_int_equal(got[0], last + 3);
        assert_int_equal(missing[0] + missing[1], 0);
        journal_reader_close(&reader);
        reopen_journal();
        assert_int_equal(journal_last_sequence(journal, "a", 1), last + 3);
        assert_int_equal(figures().damaged_bytes, 0);
        journal_close(&journal);
    }
}

static void zeros_at_the_tail_are_truncated(void **state)
{
    (void)state;
    open_journal();
    append_both(4);
    journal_close(&journal);
    keep_image(true);
    memset(image + image_size, 0, 4096);
    put_image(image, image_size + 4096);
    open_journal();
    assert_int_equal(figures().damaged_bytes, 4096);
    assert_int_equal(journal_last_sequence(journal, "b", 2), 4);
    assert_int_equal(segment_file(image_path, true), image_size);
}

/* Between two intact segments the loss is known exactly, wherever the damage is. */
static void any_byte_in_the_middle_may_be_damaged(void **state)
{
    (void)state;
    char first[TEMP_PATH_MAX], newest[TEMP_PATH_MAX];
    settings.segment_bytes = 700;
    open_journal();
    while (figures().segments < 2)
        append_both(1);
    segment_file(first, false);
    segment_file(image_path, true);
    while (figures().segments < 3)
        append_both(1);
    segment_file(newest, true);
    append_both(3);
    uint64_t end[STREAMS] = { journal_last_sequence(journal, "a", 1), journal_last_sequence(journal, "b", 2) };
    struct stat st;
    assert_int_equal(stat(image_path, &st), 0);
    image_size = (size_t)st.st_size;
    int fd = open(image_path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, image, image_size), image_size);
    close(fd);
    journal_close(&journal);
    uint64_t whole = 0;
    for (size_t at = 16; at < image_size; at++) {
        image[at] ^= 0x20;
        put_image(image, image_size);
        image[at] ^= 0x20;
        open_journal();
        struct journal_reader *reader = open_reader("sink");
        uint64_t last[STREAMS], missing[STREAMS];
        assert_int_equal(read_all(reader, last, missing), 1);
        assert_true(figures().damaged_bytes > 0);
        for (int i = 0; i < STREAMS; i++) {
            assert_int_equal(last[i], end[i]);
            assert_int_equal(received[i] + missing[i], end[i]);
        }
        whole += missing[0] + missing[1] == 0;
        assert_in_range(missing[0] + missing[1], 0, 2 * image_size / 48);
        journal_reader_close(&reader);
        journal_close(&journal);
    }
    assert_in_range(whole, 1, image_size / 2); /* only damage to a snapshot may cost nothing */
}

/* Computed by hand: record 3 of b is lost, and those after it until the next snapshot. */
static void records_after_a_lost_one_are_lost_too(void **state)
{
    (void)state;
    settings.segment_bytes = 1000;
    open_journal();
    while (figures().segments < 3)
        append_both(1);
    journal_close(&journal);
    keep_image(false);
    char *found = memmem(image, image_size, "b/2/3", 5);
    assert_non_null(found);
    *found = 'x';
    put_image(image, image_size);
    uint64_t in_first = 0;
    for (const char *at = image; (at = memmem(at, image_size - (size_t)(at - image), "b/2/", 4)); at++)
        in_first++;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    struct journal_entry entry;
    read_records(reader, 1, 1, 1, true);
    read_records(reader, 2, 1, 1, true);
    read_records(reader, 1, 2, 2, true);
    read_records(reader, 2, 2, 2, true);
    read_records(reader, 1, 3, 3, true);
    assert_int_equal(next_new(reader, &entry), CORRUPT);
    assert_int_equal(next_new(reader, &entry), OK);
    assert_int_equal(entry.kind, JOURNAL_GAP);
    assert_string_equal(entry.host, "b");
    assert_string_equal(entry.gap_reason, "damaged");
    assert_int_equal(entry.gap_from_ns, 2 * STEP_NS); /* the last one before it */
    uint64_t last = entry.sequence;
    assert_int_equal(entry.gap_records, last - 2);
    assert_int_equal(in_first, last); /* and its snapshot, one of which is lost */
    uint64_t next[STREAMS] = { 4, last + 1 };
    while (next_new(reader, &entry) == OK)
        assert_int_equal(entry.sequence, next[entry.stream - 1]++);
    assert_int_equal(next[0], journal_last_sequence(journal, "a", 1) + 1);
    assert_int_equal(next[1], journal_last_sequence(journal, "b", 2) + 1);
    journal_reader_close(&reader);
}

/* What is appended to a journal whose last segment is damaged can be read. */
static void damage_in_the_last_segment_starts_a_new_one(void **state)
{
    (void)state;
    open_journal();
    append_both(5);
    journal_close(&journal);
    keep_image(true);
    char *found = memmem(image, image_size, "a/1/2", 5);
    *found = 'x';
    put_image(image, image_size);
    open_journal();
    assert_int_equal(figures().segments, 2);
    assert_int_equal(journal_last_sequence(journal, "a", 1), 5);
    assert_true(journal_needs_snapshot(journal, "a", 1));
    append_both(3);
    struct journal_reader *reader = open_reader("sink");
    uint64_t last[STREAMS], missing[STREAMS];
    assert_int_equal(read_all(reader, last, missing), 1);
    assert_int_equal(last[0], 8);
    assert_int_equal(missing[0], 4);
    assert_int_equal(last[1], 8);
    assert_int_equal(missing[1], 0);
    journal_reader_close(&reader);
}

static void a_damaged_cursor_restarts_at_the_oldest_entry(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    open_journal();
    append_many("a", 1, 5);
    struct journal_reader *reader = open_reader("sink");
    read_records(reader, 1, 1, 3, true);
    journal_reader_close(&reader);
    journal_close(&journal);
    temp_join(path, dir, "sink.cursor");
    temp_write(path, "rubbish", 7);
    open_journal();
    reader = open_reader("sink");
    read_records(reader, 1, 1, 5, true);
    journal_reader_close(&reader);
}

/* One of the two copies is always intact, and at worst a little old. */
static void a_torn_cursor_falls_back_to_the_previous_save(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    open_journal();
    append_many("a", 1, 5);
    struct journal_reader *reader = open_reader("sink");
    read_records(reader, 1, 1, 2, true);
    journal_maintain(journal, 1);
    read_records(reader, 1, 3, 4, true);
    journal_reader_close(&reader);
    journal_close(&journal);
    temp_join(path, dir, "sink.cursor");
    for (off_t half = 0; half < 2; half++) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(fd, "torn", 4, half * 512 + 16), 4);
        close(fd);
        open_journal();
        reader = open_reader("sink");
        struct journal_entry entry;
        assert_int_equal(next_new(reader, &entry), OK);
        assert_true(entry.sequence == 3 || entry.sequence == 5 || (half == 1 && entry.sequence == 1));
        journal_reader_close(&reader);
        journal_close(&journal);
    }
}

static void a_damaged_list_of_streams_is_logged_and_ignored(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    temp_join(path, dir, "streams");
    temp_write(path, "rubbish that is long enough for a head", 38);
    open_journal();
    append_many("a", 1, 5);
    assert_int_equal(journal_last_sequence(journal, "a", 1), 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, journal_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_torn_tail_is_truncated),
        TEST(zeros_at_the_tail_are_truncated),
        TEST(any_byte_in_the_middle_may_be_damaged),
        TEST(records_after_a_lost_one_are_lost_too),
        TEST(damage_in_the_last_segment_starts_a_new_one),
        TEST(a_damaged_cursor_restarts_at_the_oldest_entry),
        TEST(a_torn_cursor_falls_back_to_the_previous_save),
        TEST(a_damaged_list_of_streams_is_logged_and_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
