/* Counting CPUs in lists. */
#include "proc/cpulist.h"

#include "tools/unit.h"

static void ranges_and_single_ones_count(void **state)
{
    (void)state;
    assert_int_equal(cpulist_count("0", NULL), 1);
    assert_int_equal(cpulist_count("0-3,8,10-11\n", NULL), 7);
    assert_int_equal(cpulist_count("", NULL), 0);
}

static void only_what_is_in_both_counts(void **state)
{
    (void)state;
    assert_int_equal(cpulist_count("0-31,96-127,192-255", "0-127"), 64);
    assert_int_equal(cpulist_count("1,3,5", "2-4"), 1);
    assert_int_equal(cpulist_count("0-7", ""), 0);
}

static void nonsense_is_no_cpu(void **state)
{
    (void)state;
    static const char *const texts[] = { "x", "3-1", "0-", "0,,2", "0-3;4", "0-99999999999", "-1" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(cpulist_count(texts[i], NULL), 0);
        assert_int_equal(cpulist_count("0-3", texts[i]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_and_single_ones_count),
        cmocka_unit_test(only_what_is_in_both_counts),
        cmocka_unit_test(nonsense_is_no_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
