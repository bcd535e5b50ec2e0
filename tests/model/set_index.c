/* Equal sets have one number at any address. */
#include "tools/unit.h"

#include "model/set_index.h"

static const struct metric metrics[] = { { "a", "1", GAUGE, U64, "" }, { "b", "1", GAUGE, U64, "" } };

static void equal_sets_have_one_number(void **state)
{
    (void)state;
    struct set_index index;
    const struct set first = { "x", metrics, 2 }, again = { "x", metrics, 2 }, shorter = { "x", metrics, 1 };
    size_t number;
    set_index_init(&index);
    assert_int_equal(set_index_of(&index, &first, &number), OK);
    assert_int_equal(number, 0);
    assert_int_equal(set_index_of(&index, &shorter, &number), OK);
    assert_int_equal(number, 1);
    assert_int_equal(set_index_of(&index, &again, &number), OK);
    assert_int_equal(number, 0);
    assert_int_equal(index.count, 2);
    assert_ptr_equal(index.sets[0], &first);
    set_index_clear(&index);
}

static void many_addresses(void **state)
{
    (void)state;
    static struct set sets[5000];
    static char names[50][8];
    struct set_index index;
    size_t number;
    set_index_init(&index);
    for (size_t i = 0; i < 50; i++)
        snprintf(names[i], sizeof names[i], "s%zu", i);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < 5000; i++) {
            sets[i] = (struct set){ names[i % 50], metrics, 2 };
            assert_int_equal(set_index_of(&index, &sets[i], &number), OK);
            assert_int_equal(number, i % 50);
        }
    assert_int_equal(index.count, 50);
    set_index_clear(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(equal_sets_have_one_number), cmocka_unit_test(many_addresses) };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
