/* A counter that never decreases. */
#include "proc/monotonic_sum.h"

#include "tools/unit.h"

static void a_growing_sum_is_followed(void **state)
{
    (void)state;
    struct monotonic_sum sum = { 0 };
    assert_int_equal(monotonic_sum_update(&sum, 10, 0), 10);
    assert_int_equal(monotonic_sum_update(&sum, 10, 0), 10);
    assert_int_equal(monotonic_sum_update(&sum, 25, 0), 25);
}

static void a_temporary_decrease_is_ignored(void **state)
{
    (void)state;
    struct monotonic_sum sum = { 0 };
    monotonic_sum_update(&sum, 100, 0);
    assert_int_equal(monotonic_sum_update(&sum, 40, 0), 100); /* a child exited while we read */
    assert_int_equal(monotonic_sum_update(&sum, 105, 0), 105); /* and is part of its parent now */
    assert_int_equal(monotonic_sum_update(&sum, 45, 0), 105);
    assert_int_equal(monotonic_sum_update(&sum, 110, 0), 110);
}

static void a_permanent_decrease_is_compensated(void **state)
{
    (void)state;
    struct monotonic_sum sum = { 0 };
    monotonic_sum_update(&sum, 100, 0);
    assert_int_equal(monotonic_sum_update(&sum, 40, 0), 100);
    assert_int_equal(monotonic_sum_update(&sum, 43, 0), 103); /* growth since the drop counts */
    assert_int_equal(monotonic_sum_update(&sum, 50, 0), 110);
}

static void small_decreases_are_rounding_errors(void **state)
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
        cmocka_unit_test(a_growing_sum_is_followed),
        cmocka_unit_test(a_temporary_decrease_is_ignored),
        cmocka_unit_test(a_permanent_decrease_is_compensated),
        cmocka_unit_test(small_decreases_are_rounding_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
