/* The identity of a journal: a reader that stores its position elsewhere can tell whether it belongs to this journal
 * and to entries that still exist. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"

static void a_journal_has_an_id_and_knows_its_newest_entry(void **state)
{
    (void)state;
    open_journal();
    struct journal_opening first = *journal_opening(journal);
    append_many("node1", 7, 3);
    struct journal_reader *reader = open_reader("sink");
    struct journal_entry entry;
    uint64_t last = 0;
    while (!journal_reader_next(reader, &entry)) {
        assert_true(entry.position > first.newest);
        last = entry.position;
    }
    assert_int_equal(journal_opening(journal)->newest, first.newest);
    journal_reader_close(&reader);
    reopen_journal();
    assert_true(first.id != 0);
    assert_int_equal(journal_opening(journal)->id, first.id);
    assert_int_not_equal(journal_opening(journal)->number, first.number);
    assert_int_equal(journal_opening(journal)->newest, last);
}

static void remove_segments(void)
{
    DIR *directory = opendir(dir);
    struct dirent *entry;
    assert_non_null(directory);
    while ((entry = readdir(directory)))
        if (strstr(entry->d_name, ".journal"))
            assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
    closedir(directory);
}

/* The files are deleted, the id is not: no position is used twice. */
static void positions_are_not_reused_after_the_files_are_deleted(void **state)
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, journal_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_journal_has_an_id_and_knows_its_newest_entry),
        TEST(positions_are_not_reused_after_the_files_are_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
