/* What a journal says of itself, so that who remembers a position elsewhere knows whether it is one of this journal, and of
 * what was in it. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"
#include "journal/journal_blob.h"

static void it_has_a_name_and_knows_what_was_there(void **state)
{
    (void)state;
    open_journal();
    struct journal_opening first = *journal_opening(journal);
    append_many("node1", 7, 3);
    struct journal_reader *reader = open_reader("sink");
    struct journal_entry entry;
    uint64_t last = 0;
    while (!journal_next(reader, &entry)) {
        assert_true(entry.position > first.newest);
        last = entry.position;
    }
    assert_int_equal(journal_opening(journal)->newest, first.newest);
    journal_read_close(&reader);
    reopen_journal();
    assert_true(first.id != 0);
    assert_int_equal(journal_opening(journal)->id, first.id);
    assert_int_not_equal(journal_opening(journal)->number, first.number);
    assert_int_equal(journal_opening(journal)->newest, last);
}

static void remove_segments(void)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;
    assert_non_null(folder);
    while ((entry = readdir(folder)))
        if (strstr(entry->d_name, ".journal"))
            assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
    closedir(folder);
}

/* The files are gone, the name is not: nothing stands again where something stood. */
static void without_its_files_it_goes_on_beyond(void **state)
{
    (void)state;
    open_journal();
    append_many("node1", 7, 3);
    uint64_t id = journal_opening(journal)->id;
    reopen_journal();
    uint64_t newest = journal_opening(journal)->newest;
    journal_close(&journal);
    remove_segments();
    open_journal();
    assert_int_equal(journal_opening(journal)->id, id);
    assert_true(journal_opening(journal)->newest > newest);
}

static void save_note(const char *name, uint64_t value)
{
    struct buf note;
    journal_blob_begin(&note);
    journal_blob_u64(&note, value);
    assert_int_equal(journal_note_save(journal, name, &note), OK);
}

static void assert_note(const char *name, uint64_t expected)
{
    struct buf note;
    struct bytes content;
    uint64_t value = 0;
    assert_int_equal(journal_note_load(journal, name, &note, &content), OK);
    assert_true(journal_blob_take_u64(&content, &value) && !content.size);
    assert_int_equal(value, expected);
    buf_clear(&note);
}

static void a_reader_keeps_a_note_until_it_is_forgotten(void **state)
{
    (void)state;
    struct buf note;
    struct bytes content;
    open_journal();
    struct journal_reader *reader = open_reader("sink:a/b");
    assert_int_equal(journal_note_load(journal, "sink:a/b", &note, &content), ABSENT);
    save_note("sink:a/b", 1);
    save_note("other", 5);
    save_note("sink:a/b", 2);
    journal_read_close(&reader);
    reopen_journal();
    assert_note("sink:a/b", 2);
    journal_forget(journal, "sink:a/b");
    assert_int_equal(journal_note_load(journal, "sink:a/b", &note, &content), ABSENT);
    assert_note("other", 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, journal_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_reader_keeps_a_note_until_it_is_forgotten),
        TEST(it_has_a_name_and_knows_what_was_there),
        TEST(without_its_files_it_goes_on_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
