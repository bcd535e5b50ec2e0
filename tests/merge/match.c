/* Matching records to process instances: reused pids, late and duplicate records, exec by any thread. */
#include "merge/match.h"

#include "tools/merge_fixture.h"

static void fork_reported_twice_is_one_process(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 10, 10);
    spool_kernel_fork(&f->spool, 11, 10, 10.1);
    spool_wait(&f->spool, 10, 11, 12, 0, 5);
    spool_kernel_fork(&f->spool, 12, 10, 20);
    spool_fork(&f->spool, 12, 10, 20.1);
    spool_wait(&f->spool, 10, 12, 22, 0, 5);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run_count(run, 12), 1);
}

static void pid_is_reused(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    for (int i = 0; i < 3; i++) {
        spool_fork(s, 11, 10, 10 + 10 * i);
        spool_exec(s, 11, 11 + 10 * i, i == 1 ? "/bin/b" : "/bin/a", 10);
        spool_image(s, 11, 10, 12 + 10 * i, i == 1 ? "/bin/b" : "/bin/a");
        spool_end(s, 11, 13 + 10 * i, 20, 0);
        spool_wait(s, 10, 11, 14 + 10 * i, i << 8, 30 + (uint64_t)i);
    }
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 4);
    for (int i = 0; i < 3; i++) {
        const struct process *p = &run->processes[1 + i];
        assert_int_equal(p->pid, 11);
        assert_int_equal(p->image, 0);
        assert_int_equal(p->exit_code, i);
        assert_int_equal(counters_cpu_us(&p->counters), 30 + i);
        assert_int_equal(p->start_ns, AT(10 + 10 * i));
    }
}

static void pid_is_reused_without_recorded_end(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++)
        spool_add(&f->spool, image, .pid = 11, .ppid = MAKER_RUN_PID, .start_ticks = 500 + 7 * (uint64_t)i,
                  .time_ns = AT(10 + 10 * i), .path = PATH("/bin/a"), .args = TEXT("a"));
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[0].image + run->processes[1].image, 0);
}

static void vfork_child_with_reused_pid(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        spool_add(&f->spool, exec, .pid = 11, .ppid = MAKER_RUN_PID, .time_ns = AT(10 + 10 * i), .path = PATH("/bin/a"));
        spool_image(&f->spool, 11, MAKER_RUN_PID, 11 + 10 * i, "/bin/a");
    }
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[0].image + run->processes[1].image, 0);
}

static void same_start_ticks_are_one_process(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++)
        spool_add(&f->spool, image, .pid = 11, .ppid = MAKER_RUN_PID, .start_ticks = 500, .time_ns = AT(10 + 10 * i),
                  .path = PATH("/bin/a"), .args = TEXT("a"));
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 11, 0)->state, PROCESS_EXECED);
    assert_int_equal(run_process(run, 11, 1)->state, PROCESS_LOST);
}

static void fork_ends_the_previous_instance(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 10, 10);
    spool_fork(&f->spool, 11, 10, 20);
    spool_kernel_fork(&f->spool, 11, 10, 20000);
    spool_kernel_fork(&f->spool, 11, 10, 20001);
    spool_run_end(&f->spool, 30000, 0);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 4);
}

static void wait_with_late_time(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_end(s, 11, 12, 20, 0);
    spool_fork(s, 11, 10, 20);
    spool_wait(s, 10, 11, 21, 1 << 8, 25);
    spool_end(s, 11, 30, 40, 0);
    spool_wait(s, 10, 11, 31, 2 << 8, 45);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[1].exit_code, 1);
    assert_int_equal(counters_cpu_us(&run->processes[1].counters), 25);
    assert_int_equal(run->processes[2].exit_code, 2);
    assert_int_equal(counters_cpu_us(&run->processes[2].counters), 45);
}

static void wait_written_late(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_fork(s, 11, 10, 10);
    spool_end(s, 11, 12, 20, 0);
    spool_fork(s, 11, 10, 20);
    spool_end(s, 11, 30, 40, 0);
    spool_wait(s, 10, 11, 31, 2 << 8, 45);
    spool_wait(s, 10, 11, 13, 1 << 8, 25);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[1].exit_code, 1);
    assert_int_equal(run->processes[2].exit_code, 2);
}

static void killed_processes_with_one_pid(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        spool_fork(&f->spool, 11, 10, 10 + 10 * i);
        spool_wait(&f->spool, 10, 11, 15 + 10 * i, 9, 25);
    }
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[1].exit_signal, 9);
    assert_int_equal(run->processes[2].exit_signal, 9);
}

static void taskstats_after_pid_reuse(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 10);
    spool_kernel_exit(s, 11, 20, 0);
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 100);
    spool_taskstats(s, 11, MAKER_RUN_PID, 10.5, 120, 700);
    spool_kernel_exit(s, 11, 200, 0);
    spool_taskstats(s, 11, MAKER_RUN_PID, 101, 201, 800);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(counters_cpu_us(&run->processes[0].counters), 700);
    assert_int_equal(counters_cpu_us(&run->processes[1].counters), 800);
    assert_int_equal(run->processes[0].end_ns, AT(20));
}

static void taskstats_distinguish_two_processes(void **state)
{
    struct fixture *f = *state;
    spool_taskstats(&f->spool, 11, MAKER_RUN_PID, 10, 20, 700);
    spool_taskstats(&f->spool, 11, MAKER_RUN_PID, 20.5, 30, 800);
    assert_int_equal(run_count(merge(f), 11), 2);
}

static void spawn_recorded_before_and_after_its_child(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_add(s, spawn, .pid = 11, .ppid = 10, .time_ns = AT(9), .path = PATH("/bin/a"), .args = TEXT("/bin/a"));
    spool_kernel_fork(s, 11, 10, 9.5);
    spool_image(s, 11, 10, 10, "/bin/a");
    spool_end(s, 11, 11, 20, 0);
    spool_wait(s, 10, 11, 12, 0, 25);
    spool_image(s, 12, 10, 20, "/bin/a");
    spool_end(s, 12, 21, 20, 0);
    spool_add(s, spawn, .pid = 12, .ppid = 10, .time_ns = AT(22), .path = PATH("/bin/a"), .args = TEXT("/bin/a"));
    spool_wait(s, 10, 12, 23, 0, 25);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run_count(run, 12), 1);
    assert_int_equal(run_process(run, 12, 0)->start_ns, AT(20));
    assert_int_equal(run_process(run, 12, 0)->ppid, 10);
}

static void tracer_waits_too(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 10, 10);
    spool_wait(&f->spool, 60, 11, 15, 9, 25);
    spool_wait(&f->spool, 10, 11, 15.1, 9, 25);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run_process(run, 11, 0)->ppid, 10);
}

static void stop_is_not_an_exit(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 10, 10);
    spool_wait(&f->spool, 10, 11, 15, 0x137f, 0);
    spool_end(&f->spool, 11, 20, 5, 0);
    spool_wait(&f->spool, 10, 11, 21, 0, 6);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(counters_cpu_us(&run_process(run, 11, 0)->counters), 6);
}

static void exec_after_end_record(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 10, 10);
    spool_end(&f->spool, 11, 20, 5, 0);
    spool_exec(&f->spool, 11, 21, "/bin/a", 6);
    spool_image(&f->spool, 11, 10, 22, "/bin/a");
    spool_run_end(&f->spool, 50, 0);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->state, PROCESS_LOST);
    assert_bytes(p->path, "/bin/a");
}

static void vfork_child(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/make");
    for (int i = 0; i < 2; i++) {
        spool_add(s, exec, .pid = 11, .ppid = 10, .time_ns = AT(10 + 10 * i), .path = PATH("/usr/bin/a"));
        spool_add(s, exec_failed, .pid = 11, .time_ns = AT(10.1 + 10 * i));
        spool_add(s, exec, .pid = 11, .ppid = 10, .time_ns = AT(10.2 + 10 * i), .path = PATH("/bin/a"));
        spool_image(s, 11, 10, 11 + 10 * i, "/bin/a");
        spool_end(s, 11, 12 + 10 * i, 5, 0);
        spool_wait(s, 10, 11, 13 + 10 * i, 0, 6 + (uint64_t)i);
    }
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_bytes(run->processes[1].path, "/bin/a");
    assert_int_equal(run->processes[1].image, 0);
    assert_int_equal(run->processes[2].image, 0);
    assert_int_equal(run->processes[1].parent, 0);
}

static void exec_by_non_main_thread(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 10);
    spool_add(s, kernel_fork, .pid = 11, .ppid = MAKER_RUN_PID, .tid = 12, .time_ns = AT(11));
    spool_kernel_exit(s, 11, 12, 0);
    spool_kernel_exec(s, 11, 12.1, "/bin/b");
    spool_kernel_exit(s, 11, 20, 0);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run_process(run, 11, 0)->end_ns, AT(20));
}

static void taskstats_of_exec_by_non_main_thread(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 10);
    spool_add(s, kernel_fork, .pid = 11, .ppid = MAKER_RUN_PID, .tid = 12, .time_ns = AT(11));
    spool_add(s, taskstats, .pid = 11, .tid = 11, .ppid = MAKER_RUN_PID, .start_ns = AT(10), .end_ns = AT(11.9),
              .counters = usage_us(100, 0));
    spool_kernel_exit(s, 11, 12, 0);
    spool_kernel_exec(s, 11, 12.1, "/bin/b");
    spool_taskstats(s, 11, MAKER_RUN_PID, 10, 19.9, 9000);
    spool_kernel_exit(s, 11, 20, 0);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run_process(run, 11, 0)->end_ns, AT(20));
    assert_int_equal(counters_cpu_us(&run_process(run, 11, 0)->counters), 9100);
}

static void exit_of_an_unknown_thread(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 10);
    spool_add(s, kernel_exit, .pid = 11, .tid = 12, .time_ns = AT(11));
    spool_add(s, kernel_fork, .pid = 11, .ppid = MAKER_RUN_PID, .tid = 13, .time_ns = AT(12));
    spool_kernel_exit(s, 11, 13, 0);
    spool_kernel_exec(s, 11, 13.1, "/bin/b");
    spool_kernel_exit(s, 11, 20, 0);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 1);
    assert_int_equal(run->processes[0].end_ns, AT(20));
}

static void found_in_proc_after_its_exit_record(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, 10, 10);
    spool_add(s, image, .pid = 11, .ppid = 10, .time_ns = AT(30), .path = PATH("/bin/true"));
    spool_taskstats(s, 11, 10, 10, 40, 700);
    spool_add(s, alive, .pid = 11, .ppid = 10, .start_ticks = 1000, .time_ns = AT(40.3), .self = usage_us(700, 0));
    spool_kernel_exit(s, 11, 40.6, 0);
    spool_wait(s, 10, 11, 41, 0, 800);
    spool_add(s, alive, .pid = 11, .ppid = 10, .start_ticks = 1500, .time_ns = AT(5041), .self = usage_us(5, 0));
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[1].state, PROCESS_LOST); /* its start is unknown */
    assert_int_equal(run->processes[2].end_ns, AT(40.6));
    assert_int_equal(counters_cpu_us(&run->processes[2].counters), 800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(fork_reported_twice_is_one_process),
        T(pid_is_reused),
        T(pid_is_reused_without_recorded_end),
        T(vfork_child_with_reused_pid),
        T(same_start_ticks_are_one_process),
        T(fork_ends_the_previous_instance),
        T(wait_with_late_time),
        T(wait_written_late),
        T(killed_processes_with_one_pid),
        T(taskstats_after_pid_reuse),
        T(taskstats_distinguish_two_processes),
        T(spawn_recorded_before_and_after_its_child),
        T(tracer_waits_too),
        T(stop_is_not_an_exit),
        T(exec_after_end_record),
        T(vfork_child),
        T(exec_by_non_main_thread),
        T(taskstats_of_exec_by_non_main_thread),
        T(exit_of_an_unknown_thread),
        T(found_in_proc_after_its_exit_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
