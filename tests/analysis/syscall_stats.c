/* System call statistics: order, totals, and the time during which calls were not counted. */
#include "analysis/syscall_stats.h"

#include "analysis/metrics_fixture.h"
#include "tools/unit.h"

static void most_time_first_then_most_calls_then_by_name(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct syscall_stats calls;
    job_metrics_init(&metrics);
    metrics_fixture_call(&metrics, "read", 10, NAN, 5, 2);
    metrics_fixture_call(&metrics, "write", 20, 1, 7, 3);
    metrics_fixture_call(&metrics, "openat", 30, 2, NAN, NAN);
    metrics_fixture_call(&metrics, "close", 40, 4, NAN, NAN);
    metrics_fixture_call(&metrics, "access", 30, NAN, NAN, 0);
    metrics_fixture_call(&metrics, "fsync", 0, NAN, 0, 9); /* no calls: left out */
    metrics_fixture_call(&metrics, "read/pipe", 3, NAN, 2, 1);
    metrics_fixture_call(&metrics, "read/other", 0, NAN, 8, NAN); /* bytes only */
    assert_int_equal(syscall_stats_read(&calls, &metrics), OK);
    static const char *const names[] = { "write", "read", "close", "access", "openat" };
    assert_int_equal(calls.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(calls.list[i].name, names[i]);
    assert_int_equal(calls.class_count, 2);
    assert_string_equal(calls.classes[0].name, "read/pipe");
    assert_string_equal(syscall_stats_class(&calls.classes[0]), "pipe");
    assert_string_equal(syscall_stats_class(&calls.list[0]), "");
    assert_false(syscall_stats_is_extra(&calls.classes[0]));
    assert_true(syscall_stats_is_extra(&calls.classes[1]));
    assert_true(calls.all.calls == 130 && calls.all.errors == 7 && calls.all.bytes == 12 && calls.all.time_s == 5);
    syscall_stats_clear(&calls);
    job_metrics_clear(&metrics);
}

static void syscall_statistics(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct syscall_stats calls;
    job_metrics_init(&metrics);
    metrics_fixture_example(&metrics);
    assert_int_equal(syscall_stats_read(&calls, &metrics), OK);
    assert_int_equal(calls.count, 3);
    assert_string_equal(calls.list[0].name, "futex");
    assert_true(syscall_stats_waits(&calls.list[0]) && !syscall_stats_waits(&calls.list[1]));
    assert_true(calls.all.calls == 275000); /* classes are not added to the calls they are part of */
    assert_int_equal(calls.class_count, 2);
    assert_string_equal(syscall_stats_class(&calls.classes[0]), "file:ext4");
    assert_string_equal(syscall_stats_class(&calls.list[1]), "");
    syscall_stats_clear(&calls);
    job_metrics_clear(&metrics);
}

/* Two runs, one of which does not know the number of calls. */
static void bytes_without_calls(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct syscall_stats calls;
    job_metrics_init(&metrics);
    metrics_fixture_call(&metrics, "read/other", NAN, NAN, 500, NAN);
    metrics_fixture_call(&metrics, "read/other", 7, NAN, 70, NAN);
    metrics_fixture_call(&metrics, "write/other", 3, NAN, 30, NAN);
    metrics_fixture_call(&metrics, "write/pipe", 0, NAN, 0, NAN);
    assert_int_equal(syscall_stats_read(&calls, &metrics), OK);
    assert_int_equal(calls.class_count, 2);
    assert_string_equal(calls.classes[0].name, "write/other");
    assert_true(calls.classes[0].calls == 3 && calls.classes[0].bytes == 30);
    assert_true(isnan(calls.classes[1].calls) && calls.classes[1].bytes == 570);
    syscall_stats_clear(&calls);
    job_metrics_clear(&metrics);
}

static void longest_call(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct syscall_stats calls;
    job_metrics_init(&metrics);
    metrics_fixture_call(&metrics, "openat", 30, 2, NAN, NAN);
    assert_int_equal(syscall_stats_read(&calls, &metrics), OK);
    assert_null(syscall_stats_longest(&calls, true));
    syscall_stats_clear(&calls);
    metrics_fixture_call(&metrics, "futex", 10, 0, 0, 9);
    metrics_fixture_call(&metrics, "read", 10, 0, 0, 2);
    metrics_fixture_call(&metrics, "futex_waitv", 10, 0, 0, 3); /* not futex, although the name begins so */
    assert_int_equal(syscall_stats_read(&calls, &metrics), OK);
    assert_string_equal(syscall_stats_longest(&calls, true)->name, "futex");
    assert_string_equal(syscall_stats_longest(&calls, false)->name, "futex_waitv");
    syscall_stats_clear(&calls);
    job_metrics_clear(&metrics);
}

static struct syscall_stats_gap gap_of(const struct set *set, size_t count, const uint64_t *ways, const uint8_t *known)
{
    struct syscall_stats_gap gap = { 0 };
    uint64_t times_ns[8];
    union value values[8];
    uint8_t flags[8];
    for (size_t i = 0; i < count; i++) {
        times_ns[i] = 100 * (i + 1);
        values[i].u64 = ways[i];
        flags[i] = known ? known[i] : 1;
    }
    struct run_series series = { .set = *set, .instance = "", .count = count, .times_ns = times_ns, .values = values,
                                 .known = flags };
    syscall_stats_gap_add(&gap, &series);
    return gap;
}

static void gaps_are_measured(void **state)
{
    (void)state;
    enum { none = SYSCALL_WAY_NONE, kernel = SYSCALL_WAY_KERNEL, libc = SYSCALL_WAY_LIBC };
    struct syscall_stats_gap gap = gap_of(&syscall_way_set, 3, (uint64_t[]){ kernel, kernel, kernel }, NULL);
    assert_true(!gap.from_ns && !gap.lost_ns && !gap.is_open && !gap.in_libc);

    gap = gap_of(&syscall_way_set, 7, (uint64_t[]){ kernel, none, none, kernel, none, kernel, libc }, NULL);
    assert_int_equal(gap.from_ns, 200);
    assert_int_equal(gap.lost_ns, 300); /* 200 to 400, 500 to 600 */
    assert_true(!gap.is_open && gap.in_libc);

    gap = gap_of(&syscall_way_set, 2, (uint64_t[]){ kernel, none }, NULL);
    assert_true(gap.from_ns == 200 && gap.lost_ns == 0 && gap.is_open && !gap.in_libc);

    gap = gap_of(&syscall_way_set, 2, (uint64_t[]){ none, libc }, (uint8_t[]){ 0, 0 }); /* unknown is not a gap */
    assert_true(!gap.from_ns && !gap.is_open && !gap.in_libc);
}

/* The first gap of all runs counts, and one that stays open in any of them. */
static void gaps_of_several_runs(void **state)
{
    (void)state;
    struct syscall_stats_gap gap = { 0 };
    uint64_t times_ns[2][2] = { { 50, 80 }, { 20, 30 } };
    union value values[2][2] = { { { .u64 = SYSCALL_WAY_NONE }, { .u64 = SYSCALL_WAY_NONE } },
                                 { { .u64 = SYSCALL_WAY_NONE }, { .u64 = SYSCALL_WAY_KERNEL } } };
    uint8_t known[2] = { 1, 1 };
    for (int i = 0; i < 2; i++)
        syscall_stats_gap_add(&gap, &(struct run_series){ .set = syscall_way_set, .instance = "", .count = 2,
                                                          .times_ns = times_ns[i], .values = values[i], .known = known });
    assert_true(gap.from_ns == 20 && gap.lost_ns == 10 && gap.is_open);
}

static void other_sets_are_ignored(void **state)
{
    (void)state;
    struct set other = syscall_way_set;
    other.name = "other";
    assert_int_equal(gap_of(&other, 1, (uint64_t[]){ SYSCALL_WAY_NONE }, NULL).from_ns, 0);
    other = syscall_way_set;
    other.size = 2;
    assert_int_equal(gap_of(&other, 1, (uint64_t[]){ SYSCALL_WAY_NONE }, NULL).from_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_time_first_then_most_calls_then_by_name),
        cmocka_unit_test(syscall_statistics),
        cmocka_unit_test(bytes_without_calls),
        cmocka_unit_test(longest_call),
        cmocka_unit_test(gaps_are_measured),
        cmocka_unit_test(gaps_of_several_runs),
        cmocka_unit_test(other_sets_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
