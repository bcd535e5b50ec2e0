/* A counter that never falls. */
#include "proc/monotonic_sum.h"

#include "tools/unit.h"

static void it_follows_a_sum_that_grows(void **state)
{
    (void)state;
    struct monotonic_sum sum = { 0 };
    assert_int_equal(monotonic_sum_update(&sum, 10, 0), 10);
    assert_int_equal(monotonic_sum_update(&sum, 10, 0), 10);
    assert_int_equal(monotonic_sum_update(&sum, 25, 0), 25);
}

static void what_is_missing_once_is_not_counted_twice(void **state)
{
    (void)state;
    struct monotonic_sum sum = { 0 };
    monotonic_sum_update(&sum, 100, 0);
    assert_int_equal(monotonic_sum_update(&sum, 40, 0), 100); /* a child ended while we read */
    assert_int_equal(monotonic_sum_update(&sum, 105, 0), 105); /* and is in its parent now */
    assert_int_equal(monotonic_sum_update(&sum, 45, 0), 105);
    assert_int_equal(monotonic_sum_update(&sum, 110, 0), 110);
}

static void what_stays_missing_was_forgotten_and_is_kept(void **state)
{
    (void)state;
    struct monotonic_sum sum = { 0 };
    monotonic_sum_update(&sum, 100, 0);
    assert_int_equal(monotonic_sum_update(&sum, 40, 0), 100);
    assert_int_equal(monotonic_sum_update(&sum, 43, 0), 103); /* what grew since the fall counts */
    assert_int_equal(monotonic_sum_update(&sum, 50, 0), 110);
}

static void small_falls_are_rounding_and_are_not_kept(void **state)
{
    (void)state;
    struct monotonic_sum sum = { 0 };
    monotonic_sum_update(&sum, 100, 20);
    for (int i = 0; i < 5; i++)
        assert_int_equal(monotonic_sum_update(&sum, 85, 20), 100);
    assert_int_equal(monotonic_sum_update(&sum, 104, 20), 104);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_a_sum_that_grows),
        cmocka_unit_test(what_is_missing_once_is_not_counted_twice),
        cmocka_unit_test(what_stays_missing_was_forgotten_and_is_kept),
        cmocka_unit_test(small_falls_are_rounding_and_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
