/* Sums and differences of counters, with unknown ones. */
#include "model/counters.h"

#include "tools/unit.h"

static void all_are_unknown_at_first(void **state)
{
    (void)state;
    struct counters c = { 0 };
    for (int i = 0; i < COUNTERS_SIZE; i++)
        assert_false(counters_has(&c, (enum counter)i));
    assert_int_equal(counters_cpu_us(&c), 0);
}

static void zero_is_a_value(void **state)
{
    (void)state;
    struct counters c = { 0 };
    counters_set(&c, COUNTER_majflt, 0);
    assert_true(counters_has(&c, COUNTER_majflt));
    assert_false(counters_has(&c, COUNTER_minflt));
}

static void counters_are_summed_and_gauges_maximized(void **state)
{
    (void)state;
    struct counters a = { 0 }, b = { 0 };
    counters_set(&a, COUNTER_usertime, 5);
    counters_set(&b, COUNTER_usertime, 7);
    counters_set(&a, COUNTER_rssmax, 500);
    counters_set(&b, COUNTER_rssmax, 300);
    counters_set(&b, COUNTER_syscr, 9);
    counters_add(&a, &b);
    assert_int_equal(counters_get(&a, COUNTER_usertime), 12);
    assert_int_equal(counters_get(&a, COUNTER_rssmax), 500);
    assert_int_equal(counters_get(&a, COUNTER_syscr), 9);
    assert_true(counters_has(&a, COUNTER_syscr));
    assert_false(counters_has(&a, COUNTER_systemtime));
}

static void a_difference_needs_both_and_is_never_negative(void **state)
{
    (void)state;
    struct counters a = { 0 }, b = { 0 };
    counters_set(&a, COUNTER_usertime, 10);
    counters_set(&b, COUNTER_usertime, 4);
    counters_set(&a, COUNTER_systemtime, 3);
    counters_set(&b, COUNTER_systemtime, 4);
    counters_set(&a, COUNTER_rssmax, 100);
    counters_set(&b, COUNTER_rssmax, 60);
    counters_set(&a, COUNTER_wchar, 8);
    counters_set(&b, COUNTER_rchar, 8);
    counters_subtract(&a, &b);
    assert_int_equal(counters_get(&a, COUNTER_usertime), 6);
    assert_int_equal(counters_get(&a, COUNTER_systemtime), 0);
    assert_int_equal(counters_get(&a, COUNTER_rssmax), 100);
    assert_int_equal(counters_get(&a, COUNTER_wchar), 8);
    assert_false(counters_has(&a, COUNTER_rchar));
}

static void fill_keeps_known_values(void **state)
{
    (void)state;
    struct counters a = { 0 }, b = { 0 };
    counters_set(&a, COUNTER_minflt, 1);
    counters_set(&b, COUNTER_minflt, 2);
    counters_set(&b, COUNTER_majflt, 0);
    counters_fill(&a, &b);
    assert_int_equal(counters_get(&a, COUNTER_minflt), 1);
    assert_true(counters_has(&a, COUNTER_majflt));
    assert_false(counters_has(&a, COUNTER_inblock));
}

static void every_counter_is_described(void **state)
{
    (void)state;
    for (int i = 0; i < COUNTERS_SIZE; i++) {
        assert_non_null(counters_metrics[i].name);
        assert_true(strlen(counters_metrics[i].unit) > 0);
        assert_true(strlen(counters_metrics[i].help) > 5);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(counters_metrics[i].name, counters_metrics[k].name);
    }
    assert_string_equal(counters_metrics[COUNTER_timeslices].name, "timeslices");
    assert_string_equal(counters_metrics[COUNTER_usertime].unit, "us");
    assert_int_equal(counters_metrics[COUNTER_rssmax].kind, GAUGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_unknown_at_first),
        cmocka_unit_test(zero_is_a_value),
        cmocka_unit_test(counters_are_summed_and_gauges_maximized),
        cmocka_unit_test(a_difference_needs_both_and_is_never_negative),
        cmocka_unit_test(fill_keeps_known_values),
        cmocka_unit_test(every_counter_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
