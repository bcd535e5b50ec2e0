/* What the probe wrote before an exec does not count as I/O of the program. */
#include "tools/spool_maker.h"
#include "tools/unit.h"

#include "spool/spool.h"

static struct spool_maker maker;
static struct merged merged;

static struct counters written(uint64_t bytes, uint64_t calls)
{
    return counters_with(COUNTER_wchar, bytes, COUNTER_syscw, calls, COUNTER_usertime, 500, COUNTER_systemtime, 500,
                         COUNTERS_SIZE);
}

static void add_end(uint32_t pid, double ms, struct counters main)
{
    spool_add(&maker, end, .pid = pid, .time_ns = AT(ms), .threads = 1, .main = main, .self = main);
}

static void overhead_after_a_fork(void **state)
{
    (void)state;
    spool_maker_init(&maker);
    uint64_t before = maker.buf.size;
    spool_fork(&maker, 200, MAKER_RUN_PID, 1);
    spool_exec(&maker, 200, 2, "/bin/a", 100);
    uint64_t own = maker.buf.size - before;
    spool_image(&maker, 200, MAKER_RUN_PID, 3, "/bin/a");
    add_end(200, 9, written(own + 1000, 2 + 3));
    spool_run_end(&maker, 10, 1000);
    spool_merge(&maker, &merged);
    const struct process *process = run_process(&merged.run, 200, 0);
    assert_int_equal(counters_get(&process->counters, COUNTER_wchar), 1000);
    assert_int_equal(counters_get(&process->counters, COUNTER_syscw), 3);
    assert_int_equal(counters_get(&merged.run.threads[process->thread_first].counters, COUNTER_wchar), 1000);
    merge_clear(&merged);
    spool_maker_clear(&maker);
}

/* The values at an exec exclude what the probe wrote in that image; those of the next image start with it included. */
static void overhead_after_an_exec(void **state)
{
    (void)state;
    spool_maker_init(&maker);
    uint64_t before = maker.buf.size;
    spool_image(&maker, 200, MAKER_RUN_PID, 1, "/bin/a");
    spool_add(&maker, exec, .pid = 200, .time_ns = AT(20), .copied = 1, .path = PATH("/bin/b"), .args = TEXT("/bin/b"),
              .self = written(700, 2), .ppid = MAKER_RUN_PID);
    uint64_t own = maker.buf.size - before;
    spool_image(&maker, 200, MAKER_RUN_PID, 21, "/bin/b");
    add_end(200, 40, written(700 + own + 1000, 2 + 2 + 3));
    spool_run_end(&maker, 50, 1000);
    spool_merge(&maker, &merged);
    const struct process *first = run_process(&merged.run, 200, 0), *second = run_process(&merged.run, 200, 1);
    assert_int_equal(counters_get(&first->counters, COUNTER_wchar), 700);
    assert_int_equal(counters_get(&second->counters, COUNTER_wchar), 1000);
    assert_int_equal(counters_get(&second->counters, COUNTER_syscw), 3);
    merge_clear(&merged);
    spool_maker_clear(&maker);
}

/* The exec record has everything that the probe did before, including waits and reads. has_probe: the next image has
 * the probe, too. */
static void check_exec_record(bool has_probe)
{
    spool_maker_init(&maker);
    spool_image(&maker, 200, MAKER_RUN_PID, 1, "/bin/a");
    uint64_t before = maker.buf.size;
    spool_add(&maker, exec, .pid = 200, .time_ns = AT(20), .copied = 1, .path = PATH("/bin/b"), .args = TEXT("/bin/b"),
              .self = written(700, 2), .ppid = MAKER_RUN_PID, .own = written(5000, 20));
    uint64_t frame = maker.buf.size - before;
    if (has_probe) {
        spool_image(&maker, 200, MAKER_RUN_PID, 21, "/bin/b");
        add_end(200, 40, written(700 + 5000 + frame + 1000, 2 + 20 + 1 + 3));
    } else {
        spool_add(&maker, kernel_exec, .pid = 200, .time_ns = AT(21), .path = PATH("/bin/b"));
        spool_add(&maker, taskstats, .pid = 200, .tid = 200, .start_ns = AT(1), .end_ns = AT(40), .process_ended = 1,
                  .counters = written(700 + 5000 + frame + 1000, 2 + 20 + 1 + 3));
    }
    spool_run_end(&maker, 50, 1000);
    spool_merge(&maker, &merged);
    const struct process *second = run_process(&merged.run, 200, 1);
    assert_int_equal(counters_get(&second->counters, COUNTER_wchar), 1000);
    assert_int_equal(counters_get(&second->counters, COUNTER_syscw), 3);
    merge_clear(&merged);
    spool_maker_clear(&maker);
}

static void exec_record_has_the_overhead(void **state)
{
    (void)state;
    check_exec_record(true);
    check_exec_record(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(overhead_after_a_fork), cmocka_unit_test(overhead_after_an_exec),
                                         cmocka_unit_test(exec_record_has_the_overhead) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
