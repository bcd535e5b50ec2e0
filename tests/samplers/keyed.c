/* Keys of lines become metrics: names, order, limits. */
#include "samplers/keyed.h"

#include "tools/unit.h"

static const struct keyed_format colon = { .end = ':' };

static void assert_snake(const char *key, const char *expected)
{
    char name[KEYED_NAME_MAX];
    keyed_snake_case(bytes_of(key), name, sizeof name);
    assert_string_equal(name, expected);
}

static void names_are_in_snake_case(void **state)
{
    (void)state;
    assert_snake("MemTotal", "mem_total");
    assert_snake("Active(anon)", "active_anon");
    assert_snake("NFS_Unstable", "nfs_unstable");
    assert_snake("KReclaimable", "k_reclaimable");
    assert_snake("HugePages_Total", "huge_pages_total");
    assert_snake("DirectMap4k", "direct_map4k");
    assert_snake("Committed_AS", "committed_as");
    assert_snake("nr_free_pages", "nr_free_pages");
    assert_snake("24", "_24");
    assert_snake("()", "");
    assert_snake("", "");
    char name[8];
    keyed_snake_case(bytes_of("averylongname"), name, sizeof name);
    assert_true(strlen(name) < sizeof name);
}

static void two_keys_never_share_a_name(void **state)
{
    (void)state;
    struct keyed keyed;
    keyed_init(&keyed, "test", NULL);
    assert_int_equal(keyed_add_keys(&keyed, &colon, "MemFree: 1\nmem_free: 2\nMem(Free): 3\nMemFree: 4\n"), OK);
    assert_int_equal(keyed_make_set(&keyed), OK);
    const struct set *set = keyed_set(&keyed);
    assert_int_equal(set->size, 3);
    assert_string_equal(set->metrics[0].name, "mem_free");
    assert_string_equal(set->metrics[1].name, "mem_free_2");
    assert_string_equal(set->metrics[2].name, "mem_free_3");
    assert_string_equal(set->metrics[2].source, "Mem(Free)");
    keyed_clear(&keyed);
}

static void fill(struct keyed *keyed, const char *text, struct batch *batch, struct keyed_last *last)
{
    size_t expected = 0;
    batch_reset(batch);
    assert_int_equal(keyed_last_reserve(last, keyed), OK);
    keyed_fill(keyed, &colon, text, batch_add(batch, keyed_set(keyed), 1, ""), last, &expected);
}

static void the_first_of_two_lines_counts(void **state)
{
    (void)state;
    struct keyed keyed;
    struct keyed_last last = { 0 };
    struct batch batch;
    batch_init(&batch);
    keyed_init(&keyed, "test", NULL);
    assert_int_equal(keyed_add_keys(&keyed, &colon, "a: 1\nab: 2\n"), OK);
    assert_int_equal(keyed_make_set(&keyed), OK);
    fill(&keyed, "ab: 7\na: 5\na: 6\n", &batch, &last);
    assert_int_equal(batch.samples[0].values[0].u64, 5);
    assert_int_equal(batch.samples[0].values[1].u64, 7); /* "a:" does not match "ab:" */
    assert_false(keyed.has_new_keys);
    keyed_last_clear(&last);
    keyed_clear(&keyed);
    batch_clear(&batch);
}

static void unknown_lines_are_not_added_again(void **state)
{
    (void)state;
    struct keyed keyed;
    struct keyed_last last = { 0 };
    struct batch batch;
    static const char text[] = "a: 1\nno key here\n: 5\n";
    batch_init(&batch);
    keyed_init(&keyed, "test", NULL);
    assert_int_equal(keyed_add_keys(&keyed, &colon, text), OK);
    assert_int_equal(keyed_make_set(&keyed), OK);
    fill(&keyed, text, &batch, &last);
    assert_false(keyed.has_new_keys);
    fill(&keyed, "a: 1\nno key here\n: 5\nb: 6\n", &batch, &last);
    assert_true(keyed.has_new_keys);
    keyed_last_clear(&last);
    keyed_clear(&keyed);
    batch_clear(&batch);
}

static void the_number_of_sets_is_limited(void **state)
{
    (void)state;
    struct keyed keyed;
    keyed_init(&keyed, "test", NULL);
    for (unsigned i = 0; i < KEYED_SETS_MAX + 10; i++) {
        char text[32];
        snprintf(text, sizeof text, "key%u: 1\n", i);
        assert_int_equal(keyed_add_keys(&keyed, &colon, text), OK);
        assert_int_equal(keyed_make_set(&keyed), OK);
    }
    assert_int_equal(keyed_set(&keyed)->size, KEYED_SETS_MAX);
    keyed_clear(&keyed);
}

static void without_keys_there_is_no_set(void **state)
{
    (void)state;
    struct keyed keyed;
    keyed_init(&keyed, "test", NULL);
    assert_int_equal(keyed_add_keys(&keyed, &colon, ""), OK);
    assert_int_equal(keyed_make_set(&keyed), ABSENT);
    assert_null(keyed_set(&keyed));
    keyed_clear(&keyed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_in_snake_case),
        cmocka_unit_test(two_keys_never_share_a_name),
        cmocka_unit_test(the_first_of_two_lines_counts),
        cmocka_unit_test(unknown_lines_are_not_added_again),
        cmocka_unit_test(the_number_of_sets_is_limited),
        cmocka_unit_test(without_keys_there_is_no_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
