/* The job table: lookup by each name, also after renaming, growing and removing. */
#include "jobs/job_table.h"

#include "tools/unit.h"

#define MANY 3000

static void number_name(char out[32], const char *front, int number)
{
    snprintf(out, 32, "%s%d", front, number);
}

static void each_job_is_found_by_its_names(void **state)
{
    (void)state;
    static struct job_entry *all[MANY];
    struct job_table table = { 0 };
    char name[32];
    for (int i = 0; i < MANY; i++) {
        number_name(name, "key", i);
        all[i] = job_table_add(&table, i % 3 ? name : "");
        number_name(name, "id", i);
        job_table_rename(&table, all[i], JOB_TABLE_ID, name);
        number_name(name, "other", i);
        job_table_rename(&table, all[i], JOB_TABLE_OTHER_ID, i % 2 ? name : "");
    }
    assert_int_equal(table.without_key, MANY / 3);
    for (int i = 0; i < MANY; i += 7) {
        job_table_remove(&table, all[i]);
        all[i] = NULL;
    }
    for (int i = 1; i < MANY; i += 7) {
        number_name(name, "new", i);
        job_table_rename(&table, all[i], JOB_TABLE_ID, name);
    }
    for (int i = 0; i < MANY; i++) {
        number_name(name, i % 7 == 1 ? "new" : "id", i);
        assert_ptr_equal(job_table_find_id(&table, name), all[i]);
        number_name(name, "other", i);
        assert_ptr_equal(job_table_find_id(&table, name), i % 2 ? all[i] : NULL);
        number_name(name, "key", i);
        assert_ptr_equal(job_table_find_key(&table, name), i % 3 ? all[i] : NULL);
    }
    assert_null(job_table_find_id(&table, "id1")); /* it has another name now */
    job_table_clear(&table);
    assert_null(job_table_find_id(&table, "id2"));
}

static void a_name_may_change(void **state)
{
    (void)state;
    struct job_table table = { 0 };
    struct job_entry *entry = job_table_add(&table, "k");
    job_table_rename(&table, entry, JOB_TABLE_ID, "sluid");
    job_table_rename(&table, entry, JOB_TABLE_OTHER_ID, entry->id);
    job_table_rename(&table, entry, JOB_TABLE_ID, "4711");
    assert_ptr_equal(job_table_find_id(&table, "sluid"), entry);
    assert_ptr_equal(job_table_find_id(&table, "4711"), entry);
    assert_string_equal(entry->job.id, "4711");
    assert_string_equal(entry->job.other_id, "sluid");
    entry->has_ended = true;
    assert_null(job_table_find_id(&table, "4711"));
    assert_ptr_equal(job_table_find_key(&table, "k"), entry);
    job_table_clear(&table);
}

static void the_lowest_free_slot_is_used(void **state)
{
    (void)state;
    struct job_table table = { 0 };
    struct job_entry *all[200];
    for (uint32_t i = 0; i < 200; i++) {
        all[i] = job_table_add(&table, "");
        assert_int_equal(job_table_take_slot(&table, all[i]), OK);
        assert_int_equal(all[i]->job.slot, i);
    }
    job_table_free_slot(&table, all[150]);
    job_table_remove(&table, all[3]);
    assert_int_equal(table.running, 198);
    assert_int_equal(job_table_take_slot(&table, all[150]), OK);
    assert_int_equal(all[150]->job.slot, 3);
    job_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_job_is_found_by_its_names),
        cmocka_unit_test(a_name_may_change),
        cmocka_unit_test(the_lowest_free_slot_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
