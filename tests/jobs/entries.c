/* The table of jobs: found by each name, also after renaming, growing and removing. */
#include "jobs/entries.h"

#include "tools/unit.h"

#define MANY 3000

static void number_name(char out[32], const char *front, int number)
{
    snprintf(out, 32, "%s%d", front, number);
}

static void each_is_found_by_its_names(void **state)
{
    (void)state;
    static struct entry *all[MANY];
    struct entries entries = { 0 };
    char name[32];
    for (int i = 0; i < MANY; i++) {
        number_name(name, "key", i);
        all[i] = entries_add(&entries, i % 3 ? name : "");
        number_name(name, "id", i);
        entries_rename(&entries, all[i], ENTRIES_ID, name);
        number_name(name, "other", i);
        entries_rename(&entries, all[i], ENTRIES_OTHER_ID, i % 2 ? name : "");
    }
    assert_int_equal(entries.without_key, MANY / 3);
    for (int i = 0; i < MANY; i += 7) {
        entries_remove(&entries, all[i]);
        all[i] = NULL;
    }
    for (int i = 1; i < MANY; i += 7) {
        number_name(name, "new", i);
        entries_rename(&entries, all[i], ENTRIES_ID, name);
    }
    for (int i = 0; i < MANY; i++) {
        number_name(name, i % 7 == 1 ? "new" : "id", i);
        assert_ptr_equal(entries_find_id(&entries, name), all[i]);
        number_name(name, "other", i);
        assert_ptr_equal(entries_find_id(&entries, name), i % 2 ? all[i] : NULL);
        number_name(name, "key", i);
        assert_ptr_equal(entries_find_key(&entries, name), i % 3 ? all[i] : NULL);
    }
    assert_null(entries_find_id(&entries, "id1")); /* it has another name now */
    entries_clear(&entries);
    assert_null(entries_find_id(&entries, "id2"));
}

static void a_name_may_become_another(void **state)
{
    (void)state;
    struct entries entries = { 0 };
    struct entry *entry = entries_add(&entries, "k");
    entries_rename(&entries, entry, ENTRIES_ID, "sluid");
    entries_rename(&entries, entry, ENTRIES_OTHER_ID, entry->id);
    entries_rename(&entries, entry, ENTRIES_ID, "4711");
    assert_ptr_equal(entries_find_id(&entries, "sluid"), entry);
    assert_ptr_equal(entries_find_id(&entries, "4711"), entry);
    assert_string_equal(entry->job.id, "4711");
    assert_string_equal(entry->job.other_id, "sluid");
    entry->has_ended = true;
    assert_null(entries_find_id(&entries, "4711"));
    assert_ptr_equal(entries_find_key(&entries, "k"), entry);
    entries_clear(&entries);
}

static void slots_are_the_lowest_that_are_free(void **state)
{
    (void)state;
    struct entries entries = { 0 };
    struct entry *all[200];
    for (uint32_t i = 0; i < 200; i++) {
        all[i] = entries_add(&entries, "");
        assert_int_equal(entries_take_slot(&entries, all[i]), OK);
        assert_int_equal(all[i]->job.slot, i);
    }
    entries_free_slot(&entries, all[150]);
    entries_remove(&entries, all[3]);
    assert_int_equal(entries.running, 198);
    assert_int_equal(entries_take_slot(&entries, all[150]), OK);
    assert_int_equal(all[150]->job.slot, 3);
    entries_clear(&entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_by_its_names),
        cmocka_unit_test(a_name_may_become_another),
        cmocka_unit_test(slots_are_the_lowest_that_are_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
