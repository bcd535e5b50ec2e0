/* Counts of multiplexed events from reading to reading. */
#include "proc/perf_cgroup.h"

#include "tools/unit.h"

static struct perf_cgroup_total total;
static struct perf_cgroup_count last;

static int begin(void **state)
{
    (void)state;
    total = (struct perf_cgroup_total){ 0 };
    last = (struct perf_cgroup_count){ .fd = -1 };
    return 0;
}

static void read_as(uint64_t value, uint64_t enabled, uint64_t running)
{
    perf_cgroup_add(&total, &last, (const uint64_t[]){ value, enabled, running });
}

static uint64_t scaled(void)
{
    return (uint64_t)(total.value + 0.5);
}

static void a_dedicated_counter_is_not_scaled(void **state)
{
    (void)state;
    read_as(1ull << 53, 100, 100);
    read_as((1ull << 53) + 1000, 200, 200);
    assert_int_equal(scaled(), (1ull << 53) + 1000);
    assert_true(total.was_counted);
}

static void each_interval_is_scaled_separately(void **state)
{
    (void)state;
    read_as(1000, 100, 25); /* a quarter of the time */
    assert_int_equal(scaled(), 4000);
    read_as(1000, 200, 125); /* idle, and counted all the time: nothing to add */
    assert_int_equal(scaled(), 4000);
    read_as(1100, 300, 175);
    assert_int_equal(scaled(), 4200);
}

static void a_count_never_decreases(void **state)
{
    (void)state;
    read_as(1000, 100, 100);
    read_as(10, 10, 10); /* reset: the CPU was offline */
    assert_int_equal(scaled(), 1010);
    read_as(20, 20, 20);
    assert_int_equal(scaled(), 1020);
}

static void time_without_a_counter_is_covered_by_the_next_reading(void **state)
{
    (void)state;
    read_as(0, 100, 0);
    assert_true(total.was_scheduled);
    assert_false(total.was_counted);
    read_as(50, 200, 50);
    assert_int_equal(scaled(), 200);
    assert_true(total.was_counted);
}

static void one_descriptor_per_event_and_cpu(void **state)
{
    (void)state;
    const bool cpus[] = { true, false, true, true };
    assert_int_equal(perf_cgroup_fd_count(5, cpus, 4), 3 * 5 + 1); /* plus the directory */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_dedicated_counter_is_not_scaled, begin),
        cmocka_unit_test_setup(each_interval_is_scaled_separately, begin),
        cmocka_unit_test_setup(a_count_never_decreases, begin),
        cmocka_unit_test_setup(time_without_a_counter_is_covered_by_the_next_reading, begin),
        cmocka_unit_test_setup(one_descriptor_per_event_and_cpu, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
