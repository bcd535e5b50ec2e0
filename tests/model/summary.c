/* The summary of a run, and the sum of two. */
#include "model/summary.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <signal.h>

static struct counters cpu(uint64_t user_us, uint64_t system_us)
{
    struct counters counters = { 0 };
    counters_set(&counters, COUNTER_usertime, user_us);
    counters_set(&counters, COUNTER_systemtime, system_us);
    return counters;
}

static void processes_are_counted_by_exit_status(void **state)
{
    (void)state;
    struct process processes[] = {
        { .parent = PROCESS_NO_PARENT, .state = PROCESS_EXECED, .status_known = true, .exit_code = 9, .sources = SEEN_PROBE },
        { .parent = 0, .image = 1, .status_known = true, .thread_count = 3, .sources = SEEN_PROBE | SEEN_WAIT },
        { .parent = 1, .status_known = true, .exit_code = 1, .sources = SEEN_WAIT },
        { .parent = 1, .status_known = true, .exit_signal = SIGSEGV, .sources = SEEN_PROBE },
        { .parent = 1, .status_known = true, .exit_signal = SIGKILL, .sources = SEEN_PROBE },
        { .parent = 1, .state = PROCESS_RUNNING, .thread_count = 1, .sources = SEEN_PROC,
          .counters = { .known = 1ull << COUNTER_num_threads, .value[COUNTER_num_threads] = 5 } },
        { .parent = 1, .state = PROCESS_LOST, .sources = SEEN_PROBE },
    };
    struct thread threads[3] = { 0 };
    struct run run = { .processes = processes, .process_count = 7, .threads = threads, .thread_count = 3,
                       .gaps = { .records_lost = 4 } };
    struct summary summary;
    summary_of_run(&summary, &run);
    assert_int_equal(summary.images, 7);
    assert_int_equal(summary.processes, 6);
    assert_int_equal(summary.threads, 12); /* six main ones, two more, and four that /proc counted */
    assert_int_equal(summary.failed, 3);
    assert_int_equal(summary.signalled, 2);
    assert_int_equal(summary.killed, 1);
    assert_int_equal(summary.crashed, 1);
    assert_int_equal(summary.running, 1);
    assert_int_equal(summary.lost, 1);
    assert_int_equal(summary.unprobed, 2);
    assert_int_equal(summary.gaps.records_lost, 4);
    assert_int_equal(summary.rss_peak_bytes, 0);
    assert_int_equal(summary.sum.known, 1ull << COUNTER_num_threads);
}

static struct counters moved(uint64_t rchar, uint64_t syscr)
{
    struct counters counters = { 0 };
    counters_set(&counters, COUNTER_rchar, rchar);
    if (syscr)
        counters_set(&counters, COUNTER_syscr, syscr);
    return counters;
}

static void calls_are_unknown_if_missing_for_some_bytes(void **state)
{
    (void)state;
    struct process processes[] = { { .parent = PROCESS_NO_PARENT, .counters = moved(99000, 18) },
                                   { .parent = 0, .counters = moved(900, 0) } };
    struct run run = { .processes = processes, .process_count = 2 };
    struct summary some, none;
    summary_of_run(&some, &run);
    assert_true(counters_has(&some.sum, COUNTER_syscr));
    assert_int_equal(counters_get(&some.sum, COUNTER_syscr), 18);
    processes[1].counters = moved(1000000, 0);
    summary_of_run(&none, &run);
    assert_false(counters_has(&none.sum, COUNTER_syscr));
    assert_int_equal(counters_get(&none.sum, COUNTER_rchar), 1099000);
    summary_add(&some, &none);
    assert_false(counters_has(&some.sum, COUNTER_syscr));
    assert_int_equal(counters_get(&some.sum, COUNTER_rchar), 1198900);
}

static void short_processes_are_those_under_ten_ms(void **state)
{
    (void)state;
    struct process processes[] = {
        { .parent = PROCESS_NO_PARENT, .start_ns = 1, .end_ns = 1 + 50 * NS_PER_MS, .counters = cpu(100, 1) },
        { .parent = 0, .start_ns = 5, .end_ns = 5 + 10 * NS_PER_MS, .counters = cpu(200, 2) },
        { .parent = 0, .start_ns = 5, .end_ns = 4 + 10 * NS_PER_MS, .counters = cpu(300, 3) },
        { .parent = 0, .start_ns = 5, .end_ns = 6, .state = PROCESS_EXECED, .counters = cpu(400, 4) },
        { .parent = 0, .start_ns = 5, .end_ns = 6, .state = PROCESS_RUNNING, .counters = cpu(500, 5) },
        { .parent = 0, .counters = cpu(600, 6) },
    };
    struct run run = { .processes = processes, .process_count = 6, .total = cpu(9000, 900) };
    struct summary summary;
    summary_of_run(&summary, &run);
    assert_int_equal(summary.short_processes, 1);
    assert_int_equal(summary.short_cpu_us, 707);
    assert_int_equal(counters_cpu_us(&summary.sum), 2121);
    assert_int_equal(counters_cpu_us(&summary.total), 9900);
}

static void the_memory_peak_is_that_of_the_samples(void **state)
{
    (void)state;
    const struct metric metrics[] = { { "cpu", "us", COUNTER, U64, "" }, { "rss", "B", GAUGE, U64, "" } };
    union value values[] = { { 99999 }, { 500 }, { 0 }, { 9000 }, { 0 }, { 700 } };
    uint8_t known[] = { 1, 1, 1, 0, 1, 1 };
    uint64_t times_ns[] = { 1, 2, 3 };
    struct run_series series[] = {
        { .set = { "node", metrics, 2 }, "", 1, times_ns, values + 4, known },
        { .set = { "tree", metrics, 2 }, "", 3, times_ns, values, known },
    };
    struct run run = { .series = series, .series_count = 2 };
    struct summary summary;
    summary_of_run(&summary, &run);
    assert_int_equal(summary.rss_peak_bytes, 700); /* 9000 is not known */
}

/* PSS is not read at every tick: the sum of resident sizes in the other rows must not be taken instead. */
static void the_memory_peak_counts_shared_pages_once(void **state)
{
    (void)state;
    const struct metric metrics[] = { { "rss", "B", GAUGE, U64, "" }, { "pss", "B", GAUGE, U64, "" } };
    union value values[] = { { 5000 }, { 700 }, { 6000 }, { 0 }, { 800 }, { 600 } };
    uint8_t known[] = { 1, 1, 1, 0, 1, 1 }, without[] = { 1, 0, 1, 0, 1, 0 };
    uint64_t times_ns[] = { 1, 2, 3 };
    struct run_series series = { .set = { "tree", metrics, 2 }, "", 3, times_ns, values, known };
    struct run run = { .series = &series, .series_count = 1 };
    struct summary summary;
    summary_of_run(&summary, &run);
    assert_int_equal(summary.rss_peak_bytes, 700);
    assert_int_equal(summary_memory_column(&series), 1);
    series.known = without; /* an older version or kernel */
    summary_of_run(&summary, &run);
    assert_int_equal(summary.rss_peak_bytes, 6000);
    assert_int_equal(summary_memory_column(&series), 0);
    series.set.size = 0;
    assert_true(summary_memory_column(&series) == SUMMARY_NO_COLUMN);
}

/* The cgroup's maximum misses nothing between samples, but may include page cache: at most what the processes had. */
static void the_memory_peak_of_a_cgroup(void **state)
{
    (void)state;
    const struct metric metrics[] = { { "pss", "B", GAUGE, U64, "" }, { "cgroup_peak", "B", GAUGE, U64, "" } };
    union value values[] = { { 500 * 1024 }, { 0 }, { 600 * 1024 }, { 900 * 1024 } };
    uint8_t known[] = { 1, 0, 1, 1 };
    uint64_t times_ns[] = { 1, 2 };
    struct run_series series = { .set = { "tree", metrics, 2 }, "", 2, times_ns, values, known };
    struct process processes[2] = { 0 };
    struct run run = { .series = &series, .series_count = 1, .processes = processes, .process_count = 2 };
    struct summary summary;
    summary_of_run(&summary, &run);
    assert_int_equal(summary.rss_peak_bytes, 600 * 1024); /* nobody knows what the processes had */
    counters_set(&processes[0].counters, COUNTER_rssmax, 700);
    counters_set(&processes[1].counters, COUNTER_rssmax, 100);
    summary_of_run(&summary, &run);
    assert_int_equal(summary.rss_peak_bytes, 800 * 1024);
    counters_set(&processes[1].counters, COUNTER_rssmax, 700);
    summary_of_run(&summary, &run);
    assert_int_equal(summary.rss_peak_bytes, 900 * 1024);
}

static void two_runs_are_summed_and_peaks_maximized(void **state)
{
    (void)state;
    struct summary a = { .processes = 2, .threads = 3, .images = 4, .failed = 1, .short_wall_ns = 10, .rss_peak_bytes = 50,
                         .live_peak = 2, .threads_peak = 9, .gaps = { .events_lost = 1, .ticks_late = 2 },
                         .sum = cpu(10, 1), .total = cpu(20, 2) };
    struct summary b = { .processes = 20, .threads = 30, .images = 40, .crashed = 5, .short_wall_ns = 100,
                         .rss_peak_bytes = 40, .live_peak = 7, .threads_peak = 8, .gaps = { .events_lost = 10 },
                         .sum = cpu(100, 10) };
    summary_add(&a, &b);
    assert_int_equal(a.processes, 22);
    assert_int_equal(a.threads, 33);
    assert_int_equal(a.images, 44);
    assert_int_equal(a.failed, 1);
    assert_int_equal(a.crashed, 5);
    assert_int_equal(a.short_wall_ns, 110);
    assert_int_equal(a.rss_peak_bytes, 50);
    assert_int_equal(a.live_peak, 7);
    assert_int_equal(a.threads_peak, 9);
    assert_int_equal(a.gaps.events_lost, 11);
    assert_int_equal(a.gaps.ticks_late, 2);
    assert_int_equal(counters_cpu_us(&a.sum), 121);
    assert_int_equal(counters_cpu_us(&a.total), 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_are_counted_by_exit_status),
        cmocka_unit_test(calls_are_unknown_if_missing_for_some_bytes),
        cmocka_unit_test(short_processes_are_those_under_ten_ms),
        cmocka_unit_test(the_memory_peak_is_that_of_the_samples),
        cmocka_unit_test(the_memory_peak_counts_shared_pages_once),
        cmocka_unit_test(the_memory_peak_of_a_cgroup),
        cmocka_unit_test(two_runs_are_summed_and_peaks_maximized),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
