/* The journal while one call fails, each in turn: what was acknowledged is delivered after the next start, once and in order, and
 * what the journal had to delete is in a gap. */
#include "journal/journal.h"

#include "tools/faults.h"
#include "tools/journal_fixture.h"

#include <errno.h>

#define STREAM 7
#define BEFORE 40 /* records on disk before the failure */
#define ACKED 5   /* of which the reader has acknowledged these */
#define MORE 40   /* appended while calls fail */

/* What the journal promised while calls failed. */
struct promises {
    uint64_t synced; /* records up to this one are on disk */
    uint64_t acked;  /* the reader has acknowledged records up to this one */
    uint64_t id;     /* of the journal; 0: unknown */
};

static struct promises set_up_journal(void)
{
    temp_dir(dir);
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_many("a", STREAM, BEFORE);
    assert_int_equal(journal_sync(journal), OK);
    read_records(reader, STREAM, 1, ACKED, true);
    journal_reader_close(&reader);
    struct promises promises = { .synced = BEFORE, .acked = ACKED, .id = journal_opening(journal)->id };
    journal_close(&journal);
    return promises;
}

/* Reads two entries, and acknowledges what is new. */
static void read_some(struct journal_reader *reader, struct promises *promises)
{
    struct journal_entry entry;
    for (int i = 0; i < 2; i++)
        if (journal_reader_next(reader, &entry) == OK && entry.is_new && entry.kind == JOURNAL_RECORD
            && journal_reader_ack(reader, entry.position) == OK)
            promises->acked = entry.sequence;
}

/* What a collector does; errors are expected. */
static void use_journal(struct promises *promises)
{
    struct journal_reader *reader;
    struct buf error;
    buf_init(&error, 1024);
    enum err err = journal_open(&journal, dir, &settings, &error);
    assert_true(err == OK || err == NOMEM || *buf_text(&error) || error.failed);
    buf_clear(&error);
    if (err)
        return;
    bool is_reading = journal_reader_open(journal, &reader, "sink", false, 0) == OK;
    for (uint64_t i = 0; i < MORE; i++) {
        append_next("a", STREAM);
        if (is_reading)
            read_some(reader, promises);
        if (i % 8 == 7 && journal_sync(journal) == OK)
            promises->synced = journal_last_sequence(journal, "a", STREAM);
        if (i % 16 == 15)
            journal_maintain(journal, (i + 1) * STEP_NS);
    }
    if (is_reading)
        journal_reader_close(&reader);
    journal_close(&journal);
}

/* Every record that the reader did not acknowledge comes in order, or is part of a gap. Returns the number in gaps. */
static uint64_t assert_delivered(struct journal_reader *reader, const struct promises *promises)
{
    struct journal_entry entry;
    uint64_t next = 0, missed = 0;
    while (next_new(reader, &entry) == OK) {
        uint64_t first = entry.kind == JOURNAL_GAP ? entry.sequence - entry.gap_records + 1 : entry.sequence;
        if (next)
            assert_int_equal(first, next);
        else
            assert_in_range(first, 1, promises->acked + 1);
        missed += entry.kind == JOURNAL_GAP ? entry.gap_records : 0;
        next = entry.sequence + 1;
    }
    assert_true(next ? next > promises->synced : promises->acked >= promises->synced);
    return missed;
}

static void assert_promises_are_kept(const struct promises *promises, bool may_miss)
{
    open_journal();
    if (promises->id)
        assert_int_equal(journal_opening(journal)->id, promises->id);
    assert_true(journal_last_sequence(journal, "a", STREAM) >= promises->synced);
    append_many("a", STREAM, 3);
    struct journal_reader *reader = open_reader("sink");
    uint64_t missed = assert_delivered(reader, promises);
    assert_true(may_miss || !missed);
    journal_reader_close(&reader);
    journal_close(&journal);
}

static void try_with(struct fault fault, bool may_miss)
{
    struct promises promises;
    for (promises = set_up_journal(); faults_next(&fault); temp_remove(dir), promises = set_up_journal()) {
        use_journal(&promises);
        if (!faults_end(&fault))
            assert_true(promises.synced == BEFORE + MORE && promises.acked > ACKED);
        assert_promises_are_kept(&promises, may_miss);
    }
    temp_remove(dir);
    assert_true(fault.number > 10);
}

static void try_each(bool may_miss)
{
    for (int lasts = 0; lasts < 2; lasts++) {
        try_with((struct fault){ .kind = FAULT_MEMORY, .lasts = lasts }, may_miss);
        try_with((struct fault){ .kind = FAULT_READ, .lasts = lasts }, may_miss);
        try_with((struct fault){ .kind = FAULT_WRITE, .lasts = lasts }, may_miss);
        try_with((struct fault){ .kind = FAULT_WRITE, .lasts = lasts, .error = ENOSPC, .halves = true }, may_miss);
    }
}

static void nothing_is_lost(void **state)
{
    (void)state;
    settings = (struct journal_settings){ .segment_bytes = 1000 };
    try_each(false);
}

static void nothing_is_lost_after_sync(void **state)
{
    (void)state;
    settings = (struct journal_settings){ .segment_bytes = 1000, .after_sync = true };
    try_each(false);
}

/* The oldest segments are deleted while calls fail. */
static void losses_are_in_gaps(void **state)
{
    (void)state;
    settings = (struct journal_settings){ .segment_bytes = 1000, .bytes = 3000 };
    try_each(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(nothing_is_lost_after_sync),
        cmocka_unit_test(losses_are_in_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
