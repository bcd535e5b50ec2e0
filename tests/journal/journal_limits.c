/* The journal's limits: bytes, age, disk space. What is deleted too early is reported exactly once to each reader that
 * misses it. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"

#include <sched.h>
#include <sys/mount.h>

#define SMALL_BYTES (64u << 10)

static void expect_gap(struct journal_reader *reader, const char *host, uint64_t stream, uint64_t from, uint64_t to,
                       const char *reason, struct journal_entry *gap)
{
    assert_int_equal(next_new(reader, gap), OK);
    assert_int_equal(gap->kind, JOURNAL_GAP);
    assert_string_equal(gap->host, host);
    assert_int_equal(gap->stream, stream);
    assert_int_equal(gap->gap_records, to - from + 1);
    assert_int_equal(gap->sequence, to);
    assert_int_equal(gap->gap_from_ns, from * STEP_NS);
    assert_int_equal(gap->gap_to_ns, to * STEP_NS);
    assert_string_equal(gap->gap_reason, reason);
}

/* Everything up to the end must follow without a gap. Returns the last sequence. */
static uint64_t read_on(struct journal_reader *reader, uint64_t next)
{
    struct journal_entry entry;
    while (next_new(reader, &entry) == OK) {
        assert_int_equal(entry.kind, JOURNAL_RECORD);
        assert_int_equal(entry.sequence, next++);
        journal_reader_ack(reader, entry.position);
    }
    return next - 1;
}

static void append_within(uint64_t count, uint64_t tend_every)
{
    for (uint64_t i = 1; i <= count; i++) {
        assert_int_equal(append_next("a", 1), OK);
        if (tend_every && i % tend_every == 0)
            journal_maintain(journal, i);
        assert_true(figures().bytes <= settings.bytes);
    }
}

static void excess_entries_are_deleted_and_reported_as_a_gap(void **state)
{
    (void)state;
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_within(10000, 100);
    assert_true(figures().bytes > SMALL_BYTES / 2);
    uint64_t lost = figures().lost_records;
    assert_in_range(lost, 8000, 9900);
    struct journal_entry gap;
    expect_gap(reader, "a", 1, 1, lost, "journal full", &gap);
    assert_int_equal(read_on(reader, lost + 1), 10000);
    journal_reader_close(&reader);
}

static void the_size_limit_holds_without_maintenance(void **state)
{
    (void)state;
    settings.bytes = SMALL_BYTES;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_within(5000, 0);
    struct journal_entry gap;
    uint64_t lost = figures().lost_records;
    expect_gap(reader, "a", 1, 1, lost, "journal full", &gap);
    assert_int_equal(read_on(reader, lost + 1), 5000);
    journal_reader_close(&reader);
}

static void limits_can_be_changed(void **state)
{
    (void)state;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    for (int i = 0; i < 3000; i++)
        assert_int_equal(append_next("a", 1), OK);
    assert_int_equal(figures().lost_records, 0);
    journal_set_limits(journal, SMALL_BYTES, 0);
    journal_maintain(journal, 1);
    assert_true(figures().bytes <= SMALL_BYTES);
    uint64_t lost = figures().lost_records;
    struct journal_entry gap;
    expect_gap(reader, "a", 1, 1, lost, "journal full", &gap);
    assert_int_equal(read_on(reader, lost + 1), 3000);
    journal_reader_close(&reader);
}

static void a_gap_starts_after_the_last_acknowledged_entry(void **state)
{
    (void)state;
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_within(20, 0);
    read_records(reader, 1, 1, 13, true);
    append_within(5000, 100);
    struct journal_entry gap;
    uint64_t lost = figures().lost_records;
    expect_gap(reader, "a", 1, 14, 13 + lost, "journal full", &gap);
    assert_int_equal(read_on(reader, 14 + lost), 5020);
    journal_reader_close(&reader);
}

/* They may still be acknowledged: then they must not count as lost. */
static void entries_in_flight_are_not_deleted(void **state)
{
    (void)state;
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_within(500, 0);
    struct journal_entry entry;
    read_records(reader, 1, 1, 13, true);
    read_records(reader, 1, 14, 19, false);
    assert_int_equal(next_new(reader, &entry), OK);
    append_within(5000, 100);
    journal_reader_ack(reader, entry.position); /* 20 */
    uint64_t next = 21;
    while (next_new(reader, &entry) == OK && entry.kind == JOURNAL_RECORD)
        assert_int_equal(entry.sequence, next++);
    assert_true(next < 500);
    assert_int_equal(entry.kind, JOURNAL_GAP);
    assert_int_equal(entry.gap_records, figures().lost_records);
    assert_int_equal(entry.gap_from_ns, next * STEP_NS);
    assert_int_equal(entry.sequence, next + entry.gap_records - 1);
    assert_int_equal(read_on(reader, next + entry.gap_records), 5500);
    journal_reader_close(&reader);
}

/* Entries in flight at one reader are deleted after newer ones: the other reader, which misses both, gets gaps in
 * record order. */
static void gaps_are_delivered_in_order(void **state)
{
    (void)state;
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *holder = open_reader("holder"), *slow = open_reader("slow");
    struct journal_entry entry;
    append_within(500, 0);
    read_records(holder, 1, 1, 149, true);
    assert_int_equal(next_new(holder, &entry), OK); /* 150 */
    append_within(3000, 100); /* deletes segments before and after the one in flight */
    journal_reader_ack(holder, entry.position);
    while (next_new(holder, &entry) == OK && entry.sequence < 600)
        journal_reader_ack(holder, entry.position);
    journal_reader_ack(holder, entry.position);
    append_within(300, 100); /* deletes the rest */
    uint64_t next = 1;
    unsigned gaps = 0;
    while (next_new(slow, &entry) == OK) {
        if (entry.kind == JOURNAL_GAP) {
            gaps++;
            assert_int_equal(entry.gap_from_ns, next * STEP_NS);
            assert_int_equal(entry.sequence, next + entry.gap_records - 1);
        } else {
            assert_int_equal(entry.sequence, next);
        }
        next = entry.sequence + 1;
    }
    assert_int_equal(next, 3801);
    assert_true(gaps > 1);
    journal_reader_close(&holder);
    journal_reader_close(&slow);
}

/* Three streams at different rates, two readers at different positions. */
static void each_reader_gets_a_gap_per_stream(void **state)
{
    (void)state;
    static const char *const hosts[] = { "a", "b", "c" };
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *readers[] = { open_reader("slow"), open_reader("slower") };
    for (uint64_t i = 0; i < 6000; i++) {
        size_t which = i % 6 == 0 ? 2 : i % 2;
        assert_int_equal(append_next(hosts[which], which + 1), OK);
        if (i == 100)
            for (int j = 0; j < 37; j++) {
                struct journal_entry entry;
                assert_int_equal(next_new(readers[0], &entry), OK);
                journal_reader_ack(readers[0], entry.position);
            }
        if (i % 50 == 0)
            journal_maintain(journal, i);
    }
    for (int r = 0; r < 2; r++) {
        uint64_t next[3] = { 1, 1, 1 }, got = r == 0 ? 37 : 0, lost = 0;
        if (r == 0)
            for (uint64_t i = 0; i < 37; i++)
                next[i % 6 == 0 ? 2 : i % 2]++;
        struct journal_entry entry;
        while (next_new(readers[r], &entry) == OK) {
            uint64_t *expected = &next[entry.stream - 1];
            if (entry.kind == JOURNAL_GAP) {
                assert_int_equal(entry.gap_from_ns, *expected * STEP_NS);
                *expected += entry.gap_records;
                assert_int_equal(entry.sequence, *expected - 1);
                assert_int_equal(entry.gap_to_ns, entry.sequence * STEP_NS);
                lost += entry.gap_records;
                continue;
            }
            assert_int_equal(entry.sequence, (*expected)++);
            got++;
        }
        assert_int_equal(got + lost, 6000);
        assert_true(lost > 4000);
        journal_reader_close(&readers[r]);
    }
}

static void a_gap_is_repeated_until_acknowledged(void **state)
{
    (void)state;
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_within(3000, 100);
    uint64_t lost = figures().lost_records;
    struct journal_entry gap, again;
    journal_reader_close(&reader);
    reopen_journal();
    reader = open_reader("sink");
    expect_gap(reader, "a", 1, 1, lost, "journal full", &gap);
    read_records(reader, 1, lost + 1, lost + 5, false);
    journal_reader_close(&reader);
    reopen_journal();
    reader = open_reader("sink");
    expect_gap(reader, "a", 1, 1, lost, "journal full", &again);
    assert_int_equal(again.position, gap.position);
    journal_reader_ack(reader, again.position);
    journal_reader_close(&reader);
    reopen_journal();
    reader = open_reader("sink");
    assert_int_equal(read_on(reader, lost + 1), 3000);
    journal_reader_close(&reader);
}

static void later_losses_are_another_gap(void **state)
{
    (void)state;
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_within(3000, 100);
    uint64_t lost = figures().lost_records, more;
    struct journal_entry gap;
    expect_gap(reader, "a", 1, 1, lost, "journal full", &gap);
    append_within(3000, 100);
    more = figures().lost_records - lost;
    journal_reader_close(&reader);
    reopen_journal(); /* the first one was not acknowledged: both are delivered */
    reader = open_reader("sink");
    expect_gap(reader, "a", 1, 1, lost, "journal full", &gap);
    append_within(3000, 100);
    expect_gap(reader, "a", 1, lost + 1, lost + more, "journal full", &gap);
    uint64_t third = figures().lost_records;
    expect_gap(reader, "a", 1, lost + more + 1, lost + more + third, "journal full", &gap);
    journal_reader_ack(reader, gap.position);
    assert_int_equal(read_on(reader, lost + more + third + 1), 9000);
    journal_reader_close(&reader);
}

static size_t slurp(const char *path, char *data, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, data, capacity);
    close(fd);
    assert_true(got > 0 && (size_t)got < capacity);
    return (size_t)got;
}

/* The process ended after the gap was saved and before the file was deleted. */
static void an_interrupted_deletion_is_completed(void **state)
{
    (void)state;
    static char kept[1 << 16];
    char path[TEMP_PATH_MAX];
    settings.bytes = SMALL_BYTES;
    settings.segment_bytes = 4000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_within(100, 0);
    segment_file(path, false);
    size_t size = slurp(path, kept, sizeof kept);
    append_within(2000, 100);
    uint64_t lost = figures().lost_records;
    journal_reader_close(&reader);
    journal_close(&journal);
    temp_write(path, kept, size);
    open_journal();
    assert_int_not_equal(access(path, F_OK), 0);
    reader = open_reader("sink");
    struct journal_entry gap;
    expect_gap(reader, "a", 1, 1, lost, "journal full", &gap);
    assert_int_equal(read_on(reader, lost + 1), 2100);
    journal_reader_close(&reader);
}

#define HOUR_NS (3600 * STEP_NS)

static void old_entries_are_deleted_and_reported_as_a_gap(void **state)
{
    (void)state;
    settings.age_ns = HOUR_NS;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    uint64_t now_ns = 0;
    for (uint64_t second = 1; second <= 3 * 3600; second++) {
        now_ns = second * STEP_NS;
        assert_int_equal(append_next("a", 1), OK);
        journal_maintain(journal, now_ns);
        assert_true(now_ns - figures().oldest_ns <= HOUR_NS + HOUR_NS / 4);
    }
    uint64_t lost = figures().lost_records;
    assert_in_range(lost, 2 * 3600 - 900, 2 * 3600);
    struct journal_entry gap;
    expect_gap(reader, "a", 1, 1, lost, "journal too old", &gap);
    assert_int_equal(read_on(reader, lost + 1), 3 * 3600);
    for (int i = 0; i < 3; i++) /* entries also become too old if nothing new is appended */
        journal_maintain(journal, now_ns += HOUR_NS);
    assert_in_range(figures().segments, 1, 2);
    journal_reader_close(&reader);
}

/* An hour without the collector, by the time passed to journal_maintain: nothing is lost or duplicated. */
static void an_hour_without_collector_loses_nothing(void **state)
{
    (void)state;
    open_journal();
    struct journal_reader *reader = open_reader("uplink");
    for (uint64_t second = 1; second <= 600; second++) {
        append_many("a", 1, 10);
        journal_maintain(journal, second * STEP_NS);
        read_records(reader, 1, second * 10 - 9, second * 10, true);
    }
    journal_reader_close(&reader);
    for (uint64_t second = 601; second <= 4200; second++) {
        append_many("a", 1, 10);
        journal_maintain(journal, second * STEP_NS);
        if (second % 900 == 0)
            reopen_journal();
    }
    reader = open_reader("uplink");
    assert_in_range(journal_reader_lag_ns(reader, 42000 * STEP_NS), (42000 - 6001) * STEP_NS, (42000 - 6000) * STEP_NS);
    read_records(reader, 1, 6001, 42000, true);
    assert_int_equal(journal_reader_lag_bytes(reader), 0);
    journal_maintain(journal, 4201 * STEP_NS);
    journal_maintain(journal, 4202 * STEP_NS);
    assert_true(figures().bytes < 2u << 20);
    assert_int_equal(figures().lost_records, 0);
    journal_reader_close(&reader);
}

/* false: mounting is not permitted here. */
static bool mount_small_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", dir, "tmpfs", 0, "size=512k") == 0;
}

static int unmount_and_teardown(void **state)
{
    journal_close(&journal);
    umount2(dir, MNT_DETACH);
    return journal_teardown(state);
}

/* Uses up all disk space, or frees it. */
static void fill_disk(bool full)
{
    char path[TEMP_PATH_MAX];
    static const char zeros[4096];
    temp_join(path, dir, "others");
    if (!full) {
        assert_int_equal(unlink(path), 0);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, zeros, sizeof zeros) > 0)
        ;
    close(fd);
}

static void a_full_disk_returns_full_and_damages_nothing(void **state)
{
    (void)state;
    if (!mount_small_disk())
        leave_out("no mount namespace of our own");
    settings.segment_bytes = 20000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_many("a", 1, 100);
    fill_disk(true);
    enum err err;
    uint64_t kept = 100;
    while ((err = append_next("a", 1)) == OK)
        kept++;
    assert_int_equal(err, FULL);
    uint64_t position = figures().position;
    for (int i = 0; i < 10; i++)
        assert_int_equal(append_next("a", 1), FULL);
    assert_int_equal(figures().position, position);
    assert_int_equal(journal_last_sequence(journal, "a", 1), kept);
    read_records(reader, 1, 1, 50, true);
    journal_maintain(journal, 1);
    assert_int_equal(journal_sync(journal), OK);
    journal_reader_close(&reader);
    reopen_journal(); /* a start on a full disk */
    reader = open_reader("sink");
    read_records(reader, 1, 51, kept, true);
    fill_disk(false);
    append_many("a", 1, 200);
    read_records(reader, 1, kept + 1, kept + 200, true);
    assert_int_equal(figures().damaged_bytes, 0);
    journal_reader_close(&reader);
}

/* Deleting needs no space, although the last sequences must be saved. */
static void acknowledged_segments_free_a_full_disk(void **state)
{
    (void)state;
    if (!mount_small_disk())
        leave_out("no mount namespace of our own");
    settings.segment_bytes = 20000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_many("b", 2, 1);
    while (append_next("a", 1) == OK)
        ;
    uint64_t kept = journal_last_sequence(journal, "a", 1);
    assert_true(kept > 1000);
    read_records(reader, 2, 1, 1, true);
    read_records(reader, 1, 1, kept, true);
    journal_maintain(journal, 1);
    assert_true(figures().bytes < 60000);
    append_many("a", 1, 100);
    journal_reader_close(&reader);
    reopen_journal();
    assert_int_equal(journal_last_sequence(journal, "a", 1), kept + 100);
    assert_int_equal(journal_last_sequence(journal, "b", 2), 1);
    reader = open_reader("sink");
    read_records(reader, 1, kept + 1, kept + 100, true);
    journal_reader_close(&reader);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, journal_teardown)
    const struct CMUnitTest tests[] = {
        TEST(excess_entries_are_deleted_and_reported_as_a_gap),
        TEST(the_size_limit_holds_without_maintenance),
        TEST(limits_can_be_changed),
        TEST(a_gap_starts_after_the_last_acknowledged_entry),
        TEST(entries_in_flight_are_not_deleted),
        TEST(gaps_are_delivered_in_order),
        TEST(each_reader_gets_a_gap_per_stream),
        TEST(a_gap_is_repeated_until_acknowledged),
        TEST(later_losses_are_another_gap),
        TEST(an_interrupted_deletion_is_completed),
        TEST(old_entries_are_deleted_and_reported_as_a_gap),
        TEST(an_hour_without_collector_loses_nothing),
        cmocka_unit_test_setup_teardown(a_full_disk_returns_full_and_damages_nothing, journal_setup, unmount_and_teardown),
        cmocka_unit_test_setup_teardown(acknowledged_segments_free_a_full_disk, journal_setup, unmount_and_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
