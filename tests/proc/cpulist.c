/* Counting CPUs in lists. */
#include "proc/cpulist.h"

#include "tools/unit.h"

static void ranges_and_single_cpus_are_counted(void **state)
{
    (void)state;
    assert_int_equal(cpulist_count("0", NULL), 1);
    assert_int_equal(cpulist_count("0-3,8,10-11\n", NULL), 7);
    assert_int_equal(cpulist_count("", NULL), 0);
}

static void the_intersection_is_counted(void **state)
{
    (void)state;
    assert_int_equal(cpulist_count("0-31,96-127,192-255", "0-127"), 64);
    assert_int_equal(cpulist_count("1,3,5", "2-4"), 1);
    assert_int_equal(cpulist_count("0-7", ""), 0);
}

static void malformed_lists_are_rejected(void **state)
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
        cmocka_unit_test(ranges_and_single_cpus_are_counted),
        cmocka_unit_test(the_intersection_is_counted),
        cmocka_unit_test(malformed_lists_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
