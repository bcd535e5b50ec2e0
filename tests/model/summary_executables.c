/* Processes summed by executable. */
#include "model/summary.h"

#include "base/clock.h"
#include "tools/unit.h"

static struct process ran(const char *path, const char *name, uint64_t cpu_us)
{
    struct process process = { .path = bytes_of(path), .name = bytes_of(name), .start_ns = 5, .end_ns = 5 + NS_PER_MS };
    counters_set(&process.counters, COUNTER_usertime, cpu_us);
    counters_set(&process.counters, COUNTER_rssmax, cpu_us * 2);
    counters_set(&process.counters, COUNTER_read_bytes, 10);
    counters_set(&process.counters, COUNTER_write_bytes, 20);
    counters_set(&process.counters, COUNTER_rchar, 30);
    counters_set(&process.counters, COUNTER_wchar, 40);
    counters_set(&process.counters, COUNTER_time_waiting, 50);
    counters_set(&process.counters, COUNTER_delayacct_blkio_time, 60);
    return process;
}

static void one_row_for_each_path_and_name(void **state)
{
    (void)state;
    struct process processes[] = { ran("/bin/a", "a", 5), ran("/bin/b", "b", 7), ran("/bin/a", "a", 11),
                                   ran("/bin/a", "renamed", 13), ran("", "comm", 17), ran("", "other", 19),
                                   ran("/bin/a", "a", 3), ran("", "comm", 23) };
    processes[2].end_ns = processes[2].start_ns + 40 * NS_PER_MS;
    processes[2].status_known = true;
    processes[2].exit_code = 1;
    const uint32_t want[] = { 0, 1, 0, 2, 3, 4, 0, 3 };
    struct run run = { .processes = processes, .process_count = 8 };
    struct summary_executables executables;
    assert_int_equal(summary_executables_of_run(&executables, &run), OK);
    assert_int_equal(executables.count, 5);
    assert_memory_equal(executables.of_process, want, sizeof want);
    const struct summary_executable *a = &executables.items[0];
    assert_bytes(a->path, "/bin/a");
    assert_bytes(a->name, "a");
    assert_int_equal(a->count, 3);
    assert_int_equal(a->short_count, 2);
    assert_int_equal(a->failed, 1);
    assert_int_equal(a->cpu_us, 19);
    assert_int_equal(a->wall_ns, 42 * NS_PER_MS);
    assert_int_equal(a->rss_max_kb, 22);
    assert_int_equal(a->read_bytes, 30);
    assert_int_equal(a->write_bytes, 60);
    assert_int_equal(a->rchar, 90);
    assert_int_equal(a->wchar, 120);
    assert_int_equal(a->waiting_ns, 150);
    assert_int_equal(a->blkio_us, 180);
    assert_int_equal(executables.items[3].cpu_us, 40);
    summary_executables_clear(&executables);
}

static void many_executables(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static char paths[MANY][16];
    static struct process processes[2 * MANY];
    for (int i = 0; i < 2 * MANY; i++) {
        snprintf(paths[i % MANY], sizeof paths[0], "/t/%d", i % MANY);
        processes[i] = ran(paths[i % MANY], "same", 1);
    }
    struct run run = { .processes = processes, .process_count = 2 * MANY };
    struct summary_executables executables;
    assert_int_equal(summary_executables_of_run(&executables, &run), OK);
    assert_int_equal(executables.count, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(executables.items[i].count, 2);
    summary_executables_clear(&executables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_for_each_path_and_name),
        cmocka_unit_test(many_executables),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
