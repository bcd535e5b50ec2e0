/* Usage of each process: exact if somebody waited for it, shares if only a family's total is known, and always adding
 * up. */
#include "merge/usage.h"

#include "tools/merge_fixture.h"

#include <signal.h>

static uint64_t cpu_of(const struct run *run, uint32_t pid)
{
    return counters_cpu_us(&run_process(run, pid, 0)->counters);
}

static uint64_t sum_of(const struct run *run)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < run->process_count; i++)
        sum += counters_cpu_us(&run->processes[i].counters);
    return sum;
}

/* The wait record includes the teardown; the probe's end record has the children's part. */
static void wait_and_end_records(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_end(s, 11, 12, 900, 0);
    spool_wait(s, 10, 11, 13, 0, 1000);
    spool_end(s, 10, 20, 5000, 1000);
    spool_wait(s, MAKER_RUN_PID, 10, 21, 0, 6100);
    const struct run *run = merge(f);
    assert_int_equal(cpu_of(run, 11), 1000);
    assert_int_equal(cpu_of(run, 10), 5100);
    assert_int_equal(run_process(run, 10, 0)->counters.value[COUNTER_cutime], 1000);
    assert_int_equal(run_process(run, 10, 0)->sources & (USAGE_ESTIMATED | USAGE_WITH_OTHERS), 0);
}

/* User and system time are only a split of an exact sum: either of them alone could become negative. */
static void cpu_time_sum_is_exact(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_add(s, end, .pid = 10, .time_ns = AT(20), .threads = 1, .self = usage_us(100, 100), .children = usage_us(900, 50));
    spool_add(s, wait, .waiter = MAKER_RUN_PID, .pid = 10, .time_ns = AT(21), .usage = usage_us(800, 400));
    const struct process *p = run_process(merge(f), 10, 0);
    assert_int_equal(counters_cpu_us(&p->counters), 250);
    assert_int_equal(p->counters.value[COUNTER_usertime], 0);
    assert_int_equal(p->counters.value[COUNTER_systemtime], 250);
}

/* Killed: no end record, but its waits for its children were recorded. */
static void killed_parent(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    for (uint32_t pid = 11; pid <= 12; pid++) {
        spool_fork(s, pid, 10, pid);
        spool_end(s, pid, pid + 0.5, 900, 0);
        spool_wait(s, 10, pid, pid + 0.6, 0, 1000);
    }
    spool_fork(s, 13, 10, 15);
    spool_wait(s, MAKER_RUN_PID, 10, 21, SIGKILL, 5000);
    spool_end(s, 13, 30, 300, 0);
    spool_wait(s, MAKER_RUN_PID, 13, 31, 0, 350); /* an orphan: not in its parent's usage */
    const struct run *run = merge(f);
    assert_int_equal(cpu_of(run, 10), 3000);
    assert_int_equal(cpu_of(run, 13), 350);
    const struct process *p = run_process(run, 10, 0);
    assert_int_equal(p->exit_signal, SIGKILL);
    assert_int_equal(p->counters.value[COUNTER_cutime], 2000);
    assert_int_equal(p->sources & (USAGE_ESTIMATED | USAGE_WITH_OTHERS), 0);
}

/* A static shell with only its parent's wait; its children have the probe, but nobody recorded waits for them. */
static void unprobed_parent(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_add(s, spawn, .pid = 10, .ppid = MAKER_RUN_PID, .time_ns = AT(1), .path = PATH("/bin/busybox"));
    spool_image(s, 11, 10, 10, "/bin/a");
    spool_end(s, 11, 12, 900, 500);
    spool_wait(s, 11, 12, 11, 0, 500);
    spool_wait(s, MAKER_RUN_PID, 10, 21, 0, 5000);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 3);
    assert_int_equal(cpu_of(run, 11), 900);
    assert_int_equal(cpu_of(run, 12), 500);
    assert_int_equal(cpu_of(run, 10), 3600);
    assert_true(run_process(run, 10, 0)->sources & USAGE_WITH_OTHERS);
    assert_int_equal(sum_of(run), 5000);
}

/* Children that the kernel reported without usage: included in their parent's, which is marked so. */
static void children_without_usage(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 10, MAKER_RUN_PID, 1);
    spool_kernel_fork(s, 11, 10, 10);
    spool_kernel_exit(s, 11, 20, 0);
    spool_kernel_exit(s, 10, 30, 0);
    spool_wait(s, MAKER_RUN_PID, 10, 31, 0, 5000);
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 11, 0)->counters.known, 0);
    assert_int_equal(cpu_of(run, 10), 5000);
    assert_true(run_process(run, 10, 0)->sources & USAGE_WITH_OTHERS);
}

/* As root without the probe: taskstats lack the teardown, the one wait at the top includes it. */
static void taskstats_and_one_wait(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 10, MAKER_RUN_PID, 1);
    for (uint32_t pid = 11; pid < 21; pid++) {
        spool_kernel_fork(s, pid, 10, pid);
        spool_kernel_exit(s, pid, pid + 0.9, 0);
        spool_add(s, taskstats, .pid = pid, .tid = pid, .ppid = 10, .start_ns = AT(pid), .end_ns = AT(pid + 0.9),
                  .process_ended = 1, .counters = counters_with(COUNTER_usertime, 400, COUNTER_systemtime, (uint64_t)500,
                                                                COUNTER_rssmax, (uint64_t)(pid == 20 ? 9000 : 1000),
                                                                COUNTERS_SIZE));
    }
    spool_kernel_exit(s, 10, 90, 0);
    spool_taskstats(s, 10, MAKER_RUN_PID, 1, 90, 5000);
    spool_wait(s, MAKER_RUN_PID, 10, 91, 0, 15000);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 11);
    assert_in_range(sum_of(run), 14990, 15010);
    assert_in_range(cpu_of(run, 11), 910, 1100);
    assert_true(cpu_of(run, 20) > cpu_of(run, 11)); /* more memory to free */
    assert_true(run_process(run, 11, 0)->sources & USAGE_ESTIMATED);
    assert_int_equal(run_process(run, 11, 0)->counters.value[COUNTER_usertime], 400); /* teardown is system time */
}

/* The missing time is more than exits can cost: a process is unknown, and its time must not go to others. */
static void rest_too_large_for_teardown(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 10, MAKER_RUN_PID, 1);
    spool_kernel_fork(s, 11, 10, 10);
    spool_kernel_exit(s, 11, 20, 0);
    spool_taskstats(s, 11, 10, 10, 20, 1000);
    spool_kernel_exit(s, 10, 90, 0);
    spool_taskstats(s, 10, MAKER_RUN_PID, 1, 90, 5000);
    spool_wait(s, MAKER_RUN_PID, 10, 91, 0, 500000);
    const struct run *run = merge(f);
    assert_int_equal(cpu_of(run, 11), 1000);
    assert_int_equal(cpu_of(run, 10), 5000);
    assert_int_equal(run_process(run, 11, 0)->sources & USAGE_ESTIMATED, 0);
}

/* Threads shorter than a tick, whose taskstats show no CPU time: the process with many threads gets the missing time. */
static void threads_shorter_than_a_tick(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 10, MAKER_RUN_PID, 1);
    for (uint32_t pid = 200; pid <= 300; pid += 100) {
        spool_kernel_fork(s, pid, 10, pid / 10);
        for (uint32_t tid = pid + 1; tid <= pid + 20 && pid == 200; tid++)
            spool_add(s, taskstats, .pid = pid, .tid = tid, .ppid = 10, .start_ns = AT(21), .end_ns = AT(22),
                      .counters = usage_us(0, 0));
        spool_kernel_exit(s, pid, pid / 10 + 5, 0);
        spool_taskstats(s, pid, 10, pid / 10, pid / 10 + 5, 1000);
    }
    spool_kernel_exit(s, 10, 90, 0);
    spool_taskstats(s, 10, MAKER_RUN_PID, 1, 90, 1000);
    spool_wait(s, MAKER_RUN_PID, 10, 91, 0, 43000);
    const struct run *run = merge(f);
    assert_in_range(sum_of(run), 42990, 43010);
    assert_true(cpu_of(run, 200) > 30000);
    assert_true(run_process(run, 200, 0)->sources & USAGE_ESTIMATED);
}

/* Alone below its wait: the difference is exactly its own. */
static void one_taskstats_and_its_wait(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 10, MAKER_RUN_PID, 1);
    spool_taskstats(s, 10, MAKER_RUN_PID, 1, 90, 5000);
    spool_wait(s, MAKER_RUN_PID, 10, 91, 0, 5600);
    const struct run *run = merge(f);
    assert_int_equal(cpu_of(run, 10), 5600);
    assert_int_equal(run_process(run, 10, 0)->sources & USAGE_ESTIMATED, 0);
}

/* The parent has the probe but waits inside libc: its total of children is distributed. */
static void unrecorded_waits(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/perl");
    spool_image(s, 11, 10, 10, "/bin/a");
    spool_end(s, 11, 12, 900, 0);
    spool_image(s, 12, 10, 20, "/bin/a");
    spool_end(s, 12, 22, 900, 0);
    spool_end(s, 10, 30, 5000, 2000);
    spool_wait(s, MAKER_RUN_PID, 10, 31, 0, 7100);
    const struct run *run = merge(f);
    assert_int_equal(cpu_of(run, 10), 5100);
    assert_int_equal(cpu_of(run, 11), 1000);
    assert_int_equal(cpu_of(run, 12), 1000);
    assert_true(run_process(run, 12, 0)->sources & USAGE_ESTIMATED);
    assert_int_equal(run_process(run, 10, 0)->sources & USAGE_ESTIMATED, 0);
}

/* No wait at all: only the end record. */
static void end_record_alone(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_end(&f->spool, 10, 30, 5000, 2000);
    assert_int_equal(cpu_of(merge(f), 10), 5000);
}

/* A thread's taskstats were lost: the probe's larger sum is used. */
static void missing_taskstats(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_end(&f->spool, 10, 30, 5000, 0);
    spool_taskstats(&f->spool, 10, MAKER_RUN_PID, 1, 31, 3000);
    assert_int_equal(cpu_of(merge(f), 10), 5000);
}

static void still_running(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_add(&f->spool, alive, .pid = 10, .ppid = MAKER_RUN_PID, .time_ns = AT(99), .path = PATH("/bin/sh"),
              .self = usage_us(700, 0));
    spool_run_end(&f->spool, 100, 0);
    const struct process *p = run_process(merge(f), 10, 0);
    assert_int_equal(p->state, PROCESS_RUNNING);
    assert_int_equal(p->end_ns, 0);
    assert_int_equal(counters_cpu_us(&p->counters), 700);
    assert_true(p->sources & SEEN_PROC);
}

/* Found long before the end of the run, and gone since. */
static void disappeared(void **state)
{
    struct fixture *f = *state;
    spool_add(&f->spool, alive, .pid = 10, .ppid = MAKER_RUN_PID, .time_ns = AT(99), .path = PATH("/bin/sh"),
              .self = usage_us(700, 0));
    spool_run_end(&f->spool, 60000, 0);
    const struct process *p = run_process(merge(f), 10, 0);
    assert_int_equal(p->state, PROCESS_LOST);
    assert_int_equal(counters_cpu_us(&p->counters), 700);
}

/* The peak memory in a wait record is that of the process or of one that it waited for. */
static void peak_memory_of_parent_or_child(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    struct counters small = counters_with(COUNTER_rssmax, 1000, COUNTERS_SIZE);
    struct counters large = counters_with(COUNTER_rssmax, 9000, COUNTERS_SIZE);
    spool_add(s, wait, .waiter = 10, .pid = 11, .time_ns = AT(10), .usage = large);
    spool_add(s, wait, .waiter = MAKER_RUN_PID, .pid = 10, .time_ns = AT(20), .usage = large);
    spool_add(s, wait, .waiter = 12, .pid = 13, .time_ns = AT(10), .usage = small);
    spool_add(s, wait, .waiter = MAKER_RUN_PID, .pid = 12, .time_ns = AT(20), .usage = large);
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 11, 0)->counters.value[COUNTER_rssmax], 9000);
    assert_false(counters_has(&run_process(run, 10, 0)->counters, COUNTER_rssmax));
    assert_int_equal(run_process(run, 13, 0)->counters.value[COUNTER_rssmax], 1000);
    assert_int_equal(run_process(run, 12, 0)->counters.value[COUNTER_rssmax], 9000);
}

/* wait > kernel_exit > taskstats > end. */
static void precedence_of_exit_status(void **state)
{
    const int expected[] = { 4, 3, 2, 1 };
    for (int sources = 4; sources >= 1; sources--) {
        struct fixture f = { 0 };
        struct spool_maker *s = &f.spool;
        spool_maker_init(s);
        spool_add(s, end, .pid = 10, .time_ns = AT(1), .exit_code = 1);
        if (sources >= 2)
            spool_add(s, taskstats, .pid = 10, .tid = 10, .end_ns = AT(2), .process_ended = 1, .status = 2 << 8);
        if (sources >= 3)
            spool_kernel_exit(s, 10, 3, 3 << 8);
        if (sources >= 4)
            spool_wait(s, MAKER_RUN_PID, 10, 4, 4 << 8, 5);
        const struct process *p = run_process(merge(&f), 10, 0);
        assert_int_equal(p->exit_code, expected[4 - sources]);
        assert_int_equal(p->end_ns, AT(sources > 3 ? 3 : sources));
        merge_clear(&f.merged);
        spool_maker_clear(s);
    }
    (void)state;
}

static struct counters usage_kb(uint64_t cpu_us, uint64_t rss_kb)
{
    struct counters counters = usage_us(cpu_us, 0);
    counters_set(&counters, COUNTER_rssmax, rss_kb);
    return counters;
}

/* The kernel's peak of a pid includes the copy of its parent that it was before exec. */
static void memory_before_exec_is_not_its_own(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/big");
    for (uint32_t pid = 11; pid <= 13; pid++) {
        spool_fork(s, pid, 10, pid);
        spool_add(s, exec, .pid = pid, .time_ns = AT(pid + 0.1), .copied = RECORD_EXEC_COPIED, .path = bytes_of("/bin/small"),
                  .self = usage_kb(10, 800000));
    }
    spool_add(s, end, .pid = 11, .time_ns = AT(20), .threads = 1, .self = usage_kb(100, 1500), .rss_is_own = 1);
    spool_add(s, wait, .waiter = 10, .pid = 11, .time_ns = AT(21), .usage = usage_kb(110, 800000));
    spool_add(s, wait, .waiter = 10, .pid = 12, .time_ns = AT(22), .status = SIGKILL, .usage = usage_kb(110, 800000));
    spool_add(s, wait, .waiter = 10, .pid = 13, .time_ns = AT(23), .status = SIGKILL, .usage = usage_kb(110, 900000));
    spool_add(s, end, .pid = 10, .time_ns = AT(30), .threads = 1, .self = usage_kb(100, 800000), .rss_is_own = 1);
    const struct run *run = merge(f);
    assert_int_equal(counters_get(&run_process(run, 10, 0)->counters, COUNTER_rssmax), 800000);
    assert_int_equal(counters_get(&run_process(run, 11, 0)->counters, COUNTER_rssmax), 1500);
    assert_false(counters_has(&run_process(run, 12, 0)->counters, COUNTER_rssmax)); /* killed: nobody read it */
    assert_int_equal(counters_get(&run_process(run, 13, 0)->counters, COUNTER_rssmax), 900000);
}

/* The same for an image that executes another one. */
static void memory_before_the_first_of_two_images(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_add(s, image, .pid = 10, .ppid = MAKER_RUN_PID, .time_ns = AT(1), .path = bytes_of("/bin/sh"),
              .self = usage_kb(10, 800000));
    spool_add(s, exec, .pid = 10, .time_ns = AT(2), .copied = RECORD_EXEC_COPIED, .path = bytes_of("/bin/true"),
              .self = usage_kb(20, 800000));
    spool_add(s, image, .pid = 10, .ppid = MAKER_RUN_PID, .time_ns = AT(3), .path = bytes_of("/bin/true"),
              .self = usage_kb(30, 800000));
    spool_add(s, end, .pid = 10, .time_ns = AT(30), .threads = 1, .self = usage_kb(100, 1500), .rss_is_own = 1);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 2);
    assert_false(counters_has(&run->processes[0].counters, COUNTER_rssmax));
    assert_int_equal(counters_get(&run->processes[1].counters, COUNTER_rssmax), 1500);
}

/* Without a record of its own: less than its parent had says nothing. */
static void memory_of_an_unprobed_child(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/big");
    for (uint32_t pid = 11; pid <= 12; pid++)
        spool_add(s, spawn, .pid = pid, .ppid = 10, .time_ns = AT(pid), .path = bytes_of("/bin/static"));
    spool_add(s, wait, .waiter = 10, .pid = 11, .time_ns = AT(21), .usage = usage_kb(110, 700000));
    spool_add(s, wait, .waiter = 10, .pid = 12, .time_ns = AT(22), .usage = usage_kb(110, 800001));
    spool_add(s, end, .pid = 10, .time_ns = AT(30), .threads = 1, .self = usage_kb(100, 800000), .rss_is_own = 1);
    const struct run *run = merge(f);
    assert_false(counters_has(&run_process(run, 11, 0)->counters, COUNTER_rssmax));
    assert_int_equal(counters_get(&run_process(run, 12, 0)->counters, COUNTER_rssmax), 800001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(wait_and_end_records), T(cpu_time_sum_is_exact), T(killed_parent), T(unprobed_parent),
        T(children_without_usage), T(taskstats_and_one_wait), T(rest_too_large_for_teardown),
        T(threads_shorter_than_a_tick),
        T(one_taskstats_and_its_wait), T(unrecorded_waits), T(end_record_alone), T(missing_taskstats),
        T(still_running), T(disappeared), T(peak_memory_of_parent_or_child), T(memory_before_exec_is_not_its_own),
        T(memory_before_the_first_of_two_images), T(memory_of_an_unprobed_child), T(precedence_of_exit_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
