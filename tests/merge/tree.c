/* Parents and order. */
#include "merge/tree.h"

#include "tools/merge_fixture.h"

/* A daemon: forks, its parent exits, forks again, exits; sonde run reaps the rest. */
static void daemon_keeps_its_parents(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/server");
    spool_fork(s, 11, 10, 10);
    spool_fork(s, 12, 11, 11);
    spool_end(s, 11, 11.5, 5, 0);
    spool_wait(s, 10, 11, 12, 0, 6);
    spool_end(s, 10, 13, 50, 6);
    spool_wait(s, MAKER_RUN_PID, 10, 14, 0, 60);
    spool_end(s, 12, 90, 700, 0);
    spool_wait(s, MAKER_RUN_PID, 12, 91, 0, 750);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 3);
    assert_int_equal(run_process(run, 12, 0)->ppid, 11);
    assert_ptr_equal(&run->processes[run_process(run, 12, 0)->parent], run_process(run, 11, 0));
    assert_ptr_equal(&run->processes[run_process(run, 11, 0)->parent], run_process(run, 10, 0));
    assert_int_equal(counters_cpu_us(&run_process(run, 10, 0)->counters), 54);
    assert_int_equal(run_process(run, 10, 0)->inclusive_cpu_us, 54 + 6 + 750);
}

/* The probe starts after the parent has exited: getppid returns sonde run, but the announcement has the real parent. */
static void orphan_that_names_its_reaper(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_exec(s, 11, 10.5, "/bin/a", 5);
    spool_end(s, 10, 11, 50, 0);
    spool_wait(s, MAKER_RUN_PID, 10, 11.5, 0, 50);
    spool_image(s, 11, MAKER_RUN_PID, 12, "/bin/a");
    spool_wait(s, MAKER_RUN_PID, 11, 20, 0, 30);
    /* Here /proc was read in time, and the probe was late. */
    spool_add(s, kernel_exec, .pid = 12, .ppid = 10, .time_ns = AT(10), .stat_known = 1, .path = PATH("/bin/a"));
    spool_image(s, 12, MAKER_RUN_PID, 12, "/bin/a");
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 11, 0)->ppid, 10);
    assert_int_equal(run_process(run, 12, 0)->ppid, 10);
}

/* Two processes had the parent's pid: the one running at that time counts. */
static void right_instance_of_the_parent(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 1);
    spool_kernel_fork(s, 20, 11, 2);
    spool_kernel_exit(s, 11, 3, 0);
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 5000);
    spool_kernel_fork(s, 21, 11, 5001);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run_process(run, 20, 0)->parent, 0);
    assert_int_equal(run->processes[0].start_ns, AT(1));
    assert_int_equal(run->processes[run_process(run, 21, 0)->parent].start_ns, AT(5000));
}

/* Siblings by age, children after their parent, whatever the order of records. */
static void preorder(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_fork(s, 14, 12, 40);
    spool_fork(s, 13, 10, 30);
    spool_fork(s, 12, 10, 20);
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 15, 12, 35);
    const struct run *run = merge(f);
    const uint32_t pids[] = { 10, 12, 15, 14, 13 };
    const uint32_t lasts[] = { 4, 3, 2, 3, 4 };
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(run->processes[i].pid, pids[i]);
        assert_int_equal(run->processes[i].last, lasts[i]);
    }
}

static void deep_tree(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 1000, MAKER_RUN_PID, 1);
    for (uint32_t i = 1; i < 3000; i++)
        spool_fork(&f->spool, 1000 + i, 999 + i, 1 + i / 10.0);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 3000);
    assert_int_equal(run->processes[2999].parent, 2998);
    assert_int_equal(run->processes[0].last, 2999);
}

/* Damaged records can form a cycle. */
static void parent_cycle(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 12, 10);
    spool_fork(&f->spool, 12, 13, 10);
    spool_fork(&f->spool, 13, 11, 10);
    spool_fork(&f->spool, 14, 14, 10);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 4);
    for (uint32_t pid = 11; pid <= 14; pid++)
        assert_int_equal(run_count(run, pid), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(daemon_keeps_its_parents), T(orphan_that_names_its_reaper), T(right_instance_of_the_parent), T(preorder),
        T(deep_tree), T(parent_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
