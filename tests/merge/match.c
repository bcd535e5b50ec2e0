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

/* The rules of merge/match.c one by one, each with the cases on both sides of its limits: the candidates are given, not
 * derived from records. */
struct rule_case {
    const char *what;
    struct match_candidate current, previous;
    struct record_entry record;
    struct record_numbers numbers;
    struct record_entry later[2]; /* the next records of the pid */
    uint32_t later_count;
    bool has_previous;
    enum match_result expected;
};

#define KIND(kind) (1u << RECORD_KIND_##kind)
#define RECORD(name, ms) .kind = RECORD_KIND_##name, .time_ns = AT(ms)
#define BOOT_NS AT(0) /* start_ticks of 1 are AT(10) */

static enum match_result match_case(const struct rule_case *c)
{
    struct record_entry beyond = { RECORD(end, 0) }; /* not among the records of the pid */
    struct record_entry list[] = { c->record, c->later[0], c->later[1], beyond };
    uint32_t order[] = { 0, 1, 2, 3 };
    order[1 + c->later_count] = 3;
    struct record_index records = { .list = list, .boot_ns = BOOT_NS };
    struct match_state match = {
        .records = &records, .order = order, .count = 1 + c->later_count, .run_pid = MAKER_RUN_PID,
        .numbers = c->numbers, .current = c->current, .previous = c->previous,
    };
    match.current.instance = 1;
    match.previous.instance = c->has_previous ? 0 : NONE;
    return match_record(&match);
}

static void check_cases(const struct rule_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum match_result result = match_case(&cases[i]);
        if (result != cases[i].expected)
            fail_msg("%s: result %d, expected %d", cases[i].what, (int)result, (int)cases[i].expected);
    }
}

#define CHECK(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

static void rules_for_kernel_fork(void **state)
{
    (void)state;
    const struct rule_case cases[] = {
        { "new thread", { 0 }, .record = { RECORD(kernel_fork, 1), .flags = ENTRY_OF_THREAD } },
        { "new thread after the wait", { .wait_ns = AT(0) }, .record = { RECORD(kernel_fork, 1), .flags = ENTRY_OF_THREAD },
          .expected = MATCH_NEW },
        { "second fork", { .kinds = KIND(kernel_fork), .first_ns = AT(0) }, .record = { RECORD(kernel_fork, 1) },
          .expected = MATCH_NEW },
        { "after the end", { .kinds = KIND(end), .first_ns = AT(0) }, .record = { RECORD(kernel_fork, 1) },
          .expected = MATCH_NEW },
        { "after the wait", { .kinds = KIND(image), .first_ns = AT(0), .wait_ns = AT(1) }, .record = { RECORD(kernel_fork, 1) },
          .expected = MATCH_NEW },
        { "after the exit", { .kinds = KIND(image), .first_ns = AT(0), .exited = true }, .record = { RECORD(kernel_fork, 1) },
          .expected = MATCH_NEW },
        { "slow fork", { .kinds = KIND(fork) | KIND(spawn), .first_ns = AT(0) }, .record = { RECORD(kernel_fork, 10000) } },
        { "too slow a fork", { .kinds = KIND(fork), .first_ns = AT(0) }, .record = { RECORD(kernel_fork, 10000.001) },
          .expected = MATCH_NEW },
        { "clocks differ", { .kinds = KIND(image), .first_ns = AT(0) }, .record = { RECORD(kernel_fork, 10) } },
        { "clocks differ too much", { .kinds = KIND(image), .first_ns = AT(0) }, .record = { RECORD(kernel_fork, 10.001) },
          .expected = MATCH_NEW },
    };
    CHECK(cases);
}

static void rules_for_fork_and_spawn(void **state)
{
    (void)state;
    const struct rule_case cases[] = {
        { "after the kernel's fork", { .kinds = KIND(kernel_fork) }, .record = { RECORD(fork, 1) } },
        { "after an image", { .kinds = KIND(kernel_fork) | KIND(image) }, .record = { RECORD(fork, 1) }, .expected = MATCH_NEW },
        { "after the wait", { .kinds = KIND(kernel_fork), .wait_ns = AT(1) }, .record = { RECORD(fork, 1) },
          .expected = MATCH_NEW },
        { "after the exit", { .kinds = KIND(kernel_fork), .exited = true }, .record = { RECORD(fork, 1) },
          .expected = MATCH_NEW },
        { "spawn after its child", { .kinds = KIND(image) }, .record = { RECORD(spawn, 1), .related_pid = 10 } },
        { "spawn after a spawn", { .kinds = KIND(spawn) }, .record = { RECORD(spawn, 1) }, .expected = MATCH_NEW },
        { "spawn after a fork", { .kinds = KIND(fork) }, .record = { RECORD(spawn, 1) }, .expected = MATCH_NEW },
        { "spawn after an exec", { .kinds = KIND(exec) }, .record = { RECORD(spawn, 1) }, .expected = MATCH_NEW },
        { "spawn by its parent", { .ppid = 10 }, .record = { RECORD(spawn, 1), .related_pid = 10 } },
        { "spawn by another", { .ppid = 10 }, .record = { RECORD(spawn, 1), .related_pid = 20 }, .expected = MATCH_NEW },
        { "spawn of an orphan", { .ppid = MAKER_RUN_PID }, .record = { RECORD(spawn, 1), .related_pid = 20 } },
        { "spawn soon after the wait", { .wait_ns = AT(10) }, .record = { RECORD(spawn, 1010) } },
        { "spawn long after the wait", { .wait_ns = AT(10) }, .record = { RECORD(spawn, 1010.001) }, .expected = MATCH_NEW },
    };
    CHECK(cases);
}

static void rules_for_exec(void **state)
{
    (void)state;
    const struct rule_case cases[] = {
        { "after the wait", { .wait_ns = AT(1) }, .record = { RECORD(exec, 1), .flags = ENTRY_EXEC_COPIED },
          .expected = MATCH_NEW },
        { "after the exit", { .exited = true }, .record = { RECORD(exec, 1), .flags = ENTRY_EXEC_COPIED },
          .expected = MATCH_NEW },
        { "second image", { .kinds = KIND(image) }, .record = { RECORD(exec, 1), .flags = ENTRY_EXEC_COPIED } },
        { "vfork child", { .kinds = KIND(kernel_fork) }, .record = { RECORD(exec, 1) } },
        { "vfork child, image before", { .kinds = KIND(image) }, .record = { RECORD(exec, 1) }, .expected = MATCH_NEW },
        { "vfork child, end before", { .kinds = KIND(end) }, .record = { RECORD(exec, 1) }, .expected = MATCH_NEW },
        { "vfork child, fork before", { .kinds = KIND(fork) }, .record = { RECORD(exec, 1) }, .expected = MATCH_NEW },
        { "vfork child, spawn before", { .kinds = KIND(spawn) }, .record = { RECORD(exec, 1) }, .expected = MATCH_NEW },
        { "vfork child, exec before", { .kinds = KIND(kernel_exec) }, .record = { RECORD(exec, 1) }, .expected = MATCH_NEW },
        { "failed exec", { 0 }, .record = { RECORD(exec_failed, 1) } },
        { "failed exec after the wait", { .wait_ns = AT(1) }, .record = { RECORD(exec_failed, 1) }, .expected = MATCH_NEW },
        { "kernel exec, same ticks", { .ticks = 5, .exited = true }, .record = { RECORD(kernel_exec, 1) },
          .numbers = { .start_ticks = 5 } },
        { "kernel exec, other ticks", { .ticks = 5 }, .record = { RECORD(kernel_exec, 1) }, .numbers = { .start_ticks = 6 },
          .expected = MATCH_NEW },
        { "kernel exec without ticks", { .ticks = 5 }, .record = { RECORD(kernel_exec, 1) } },
        { "kernel exec, ticks of current unknown", { 0 }, .record = { RECORD(kernel_exec, 1) },
          .numbers = { .start_ticks = 6 } },
        { "kernel exec after the wait", { .wait_ns = AT(1) }, .record = { RECORD(kernel_exec, 1) }, .expected = MATCH_NEW },
    };
    CHECK(cases);
}

static void rules_for_image(void **state)
{
    (void)state;
    const struct rule_case cases[] = {
        { "same ticks", { .ticks = 5, .wait_ns = AT(1) }, .record = { RECORD(image, 1) }, .numbers = { .start_ticks = 5 } },
        { "other ticks", { .ticks = 5 }, .record = { RECORD(image, 1) }, .numbers = { .start_ticks = 6 },
          .expected = MATCH_NEW },
        { "without ticks", { .ticks = 5 }, .record = { RECORD(image, 1) } },
        { "ticks of current unknown", { 0 }, .record = { RECORD(image, 1) }, .numbers = { .start_ticks = 6 } },
        { "after the wait", { .wait_ns = AT(1) }, .record = { RECORD(image, 1) }, .expected = MATCH_NEW },
        { "after the exit", { .exited = true }, .record = { RECORD(image, 1) }, .expected = MATCH_NEW },
        { "after the end", { .kinds = KIND(end) }, .record = { RECORD(image, 1) }, .expected = MATCH_NEW },
        { "started later", { .kinds = KIND(fork), .ppid = 10, .first_ns = AT(0) }, .record = { RECORD(image, 3000) },
          .numbers = { .ppid = 20, .start_ticks = 201 }, .expected = MATCH_NEW },
        { "started later than the kernel's fork", { .kinds = KIND(kernel_fork), .ppid = 10, .first_ns = AT(0) },
          .record = { RECORD(image, 3000) }, .numbers = { .ppid = 20, .start_ticks = 201 }, .expected = MATCH_NEW },
        { "started a little later", { .kinds = KIND(fork), .ppid = 10, .first_ns = AT(0) }, .record = { RECORD(image, 3000) },
          .numbers = { .ppid = 20, .start_ticks = 200 } },
        { "start of current unknown", { .kinds = KIND(exec), .ppid = 10, .first_ns = AT(0) },
          .record = { RECORD(image, 3000) }, .numbers = { .ppid = 20, .start_ticks = 201 } },
        { "started later by the same parent", { .kinds = KIND(fork), .ppid = 10, .first_ns = AT(0) },
          .record = { RECORD(image, 3000) }, .numbers = { .ppid = 10, .start_ticks = 201 } },
        { "started later, adopted", { .kinds = KIND(fork), .ppid = 10, .first_ns = AT(0) }, .record = { RECORD(image, 3000) },
          .numbers = { .ppid = MAKER_RUN_PID, .start_ticks = 201 } },
    };
    CHECK(cases);
}

static void rules_for_alive(void **state)
{
    (void)state;
    const struct rule_case cases[] = {
        { "same ticks", { .ticks = 5, .exited = true }, .record = { RECORD(alive, 1) }, .numbers = { .start_ticks = 5 } },
        { "other ticks", { .ticks = 5, .exited = true, .last_ns = AT(1000) }, .record = { RECORD(alive, 1000) },
          .numbers = { .start_ticks = 6 }, .expected = MATCH_NEW },
        { "running", { .last_ns = AT(1000) }, .record = { RECORD(alive, 3000) }, .numbers = { .start_ticks = 200 } },
        { "start unknown after the exit", { .exited = true, .last_ns = AT(1000) }, .record = { RECORD(alive, 1000) },
          .expected = MATCH_NEW },
        { "started before the exit", { .exited = true, .last_ns = AT(1000) }, .record = { RECORD(alive, 3000) },
          .numbers = { .start_ticks = 101 } },
        { "started after the exit", { .exited = true, .last_ns = AT(1000) }, .record = { RECORD(alive, 3000) },
          .numbers = { .start_ticks = 102 }, .expected = MATCH_NEW },
        { "started after the wait", { .wait_ns = AT(1000), .last_ns = AT(1000) }, .record = { RECORD(alive, 3000) },
          .numbers = { .start_ticks = 102 }, .expected = MATCH_NEW },
    };
    CHECK(cases);
}

static void rules_for_thread_and_taskstats(void **state)
{
    (void)state;
    const struct rule_case cases[] = {
        { "thread of the previous process", { .first_ns = AT(200) }, { .last_ns = AT(100) }, { RECORD(thread, 250) },
          { .start_ns = AT(110) }, .has_previous = true, .expected = MATCH_PREVIOUS },
        { "thread started after the previous process", { .first_ns = AT(200) }, { .last_ns = AT(100) },
          { RECORD(thread, 250) }, { .start_ns = AT(110.001) }, .has_previous = true },
        { "thread started before the current process", { .first_ns = AT(200) }, { .last_ns = AT(300) },
          { RECORD(thread, 250) }, { .start_ns = AT(189.999) }, .has_previous = true, .expected = MATCH_PREVIOUS },
        { "thread started with the current process", { .first_ns = AT(200) }, { .last_ns = AT(300) },
          { RECORD(thread, 250) }, { .start_ns = AT(190) }, .has_previous = true },
        { "thread without a start", { .first_ns = AT(200) }, { .last_ns = AT(100) }, { RECORD(thread, 250) },
          .has_previous = true },
        { "thread, no previous process", { .first_ns = AT(200) }, { .last_ns = AT(100) }, { RECORD(thread, 250) },
          { .start_ns = AT(50) } },
        { "thread started before the wait", { .wait_ns = AT(10) }, .record = { RECORD(thread, 20) },
          .numbers = { .start_ns = AT(10) } },
        { "thread started after the wait", { .wait_ns = AT(10) }, .record = { RECORD(thread, 20) },
          .numbers = { .start_ns = AT(10.001) }, .expected = MATCH_NEW },
        { "thread, no wait", { 0 }, .record = { RECORD(thread, 20) }, .numbers = { .start_ns = AT(10) } },
        { "taskstats of the previous process", { .first_ns = AT(200) }, { .last_ns = AT(100) }, { RECORD(taskstats, 250) },
          { .start_ns = AT(50) }, .has_previous = true, .expected = MATCH_PREVIOUS },
        { "second taskstats of a main thread", { .exited = true, .has_main_taskstats = true, .last_ns = AT(10) },
          .record = { RECORD(taskstats, 20) }, .numbers = { .start_ns = AT(5) }, .expected = MATCH_NEW },
        { "taskstats of another thread", { .exited = true, .has_main_taskstats = true, .last_ns = AT(10) },
          .record = { RECORD(taskstats, 20), .flags = ENTRY_OF_THREAD }, .numbers = { .start_ns = AT(5) } },
        { "first taskstats of a main thread", { .exited = true, .last_ns = AT(10) }, .record = { RECORD(taskstats, 20) },
          .numbers = { .start_ns = AT(5) } },
        { "taskstats while threads run", { .has_main_taskstats = true, .last_ns = AT(10) },
          .record = { RECORD(taskstats, 20) }, .numbers = { .start_ns = AT(99999) } },
        { "taskstats started soon after the wait", { .wait_ns = AT(10), .last_ns = AT(5000) },
          .record = { RECORD(taskstats, 5000) }, .numbers = { .start_ns = AT(1010) } },
        { "taskstats started long after the wait", { .wait_ns = AT(10), .last_ns = AT(5000) },
          .record = { RECORD(taskstats, 5000) }, .numbers = { .start_ns = AT(1010.001) }, .expected = MATCH_NEW },
        { "taskstats started soon after the exit", { .exited = true, .last_ns = AT(10) },
          .record = { RECORD(taskstats, 5000) }, .numbers = { .start_ns = AT(1010) } },
        { "taskstats started long after the exit", { .exited = true, .last_ns = AT(10) },
          .record = { RECORD(taskstats, 5000) }, .numbers = { .start_ns = AT(1010.001) }, .expected = MATCH_NEW },
    };
    CHECK(cases);
}

static void rules_for_end_and_kernel_exit(void **state)
{
    (void)state;
    const struct rule_case cases[] = {
        { "end", { .kinds = KIND(image) }, .record = { RECORD(end, 1) } },
        { "end after the wait", { .wait_ns = AT(1) }, .record = { RECORD(end, 1) }, .expected = MATCH_NEW },
        { "end after the exit", { .exited = true }, .record = { RECORD(end, 1) }, .expected = MATCH_NEW },
        { "exit of a thread", { .wait_ns = AT(10) }, .record = { RECORD(kernel_exit, 20), .flags = ENTRY_OF_THREAD } },
        { "late exit of a thread", { .wait_ns = AT(10) }, .record = { RECORD(kernel_exit, 20.001), .flags = ENTRY_OF_THREAD },
          .expected = MATCH_NEW },
        { "exit of a thread after that of all others", { .kinds = KIND(kernel_exit), .exited = true },
          .record = { RECORD(kernel_exit, 20), .flags = ENTRY_OF_THREAD } },
        { "exit", { .kinds = KIND(image) }, .record = { RECORD(kernel_exit, 20) } },
        { "exit around the wait", { .wait_ns = AT(10) }, .record = { RECORD(kernel_exit, 20) } },
        { "exit after the wait", { .wait_ns = AT(10) }, .record = { RECORD(kernel_exit, 20.001) }, .expected = MATCH_NEW },
        { "second exit", { .kinds = KIND(kernel_exit), .exited = true }, .record = { RECORD(kernel_exit, 20) },
          .expected = MATCH_NEW },
        { "second exit while threads run", { .kinds = KIND(kernel_exit) }, .record = { RECORD(kernel_exit, 20) } },
        { "exit after the last taskstats", { .kinds = KIND(taskstats), .exited = true },
          .record = { RECORD(kernel_exit, 20) } },
    };
    CHECK(cases);
}

static void rules_for_wait(void **state)
{
    (void)state;
    const struct record_entry wait = { RECORD(wait, 100), .related_pid = 10 };
    const struct record_entry wait_by_run = { RECORD(wait, 100), .related_pid = MAKER_RUN_PID };
    const struct record_entry end = { RECORD(end, 200) };
    const struct rule_case cases[] = {
        { "stop", { .exited = true }, .record = { RECORD(wait, 1), .flags = ENTRY_STOP } },
        { "stop after the wait", { .wait_ns = AT(1) }, .record = { RECORD(wait, 1), .flags = ENTRY_STOP },
          .expected = MATCH_NEW },
        { "only one process", { 0 }, .record = wait, .later = { end }, .later_count = 1 },
        { "current goes on", { 0 }, { .ppid = 10 }, wait, .later = { end }, .later_count = 1, .has_previous = true,
          .expected = MATCH_PREVIOUS },
        { "current goes on, parent of previous unknown", { 0 }, { 0 }, wait, .later = { end }, .later_count = 1,
          .has_previous = true, .expected = MATCH_PREVIOUS },
        { "current goes on, other parent", { 0 }, { .ppid = 20 }, wait, .later = { end }, .later_count = 1,
          .has_previous = true },
        { "current goes on, previous adopted", { 0 }, { .ppid = 20 }, wait_by_run, .later = { end }, .later_count = 1,
          .has_previous = true, .expected = MATCH_PREVIOUS },
        { "previous was reaped", { 0 }, { .ppid = 10, .wait_ns = AT(50) }, wait, .later = { end }, .later_count = 1,
          .has_previous = true },
        { "current exited", { .exited = true }, { .ppid = 10 }, wait, .later = { end }, .later_count = 1,
          .has_previous = true },
        { "current ended", { .kinds = KIND(end) }, { .ppid = 10 }, wait, .later = { end }, .later_count = 1,
          .has_previous = true },
        { "no other record", { 0 }, { .ppid = 10 }, wait, .has_previous = true },
        { "no other record, another's child", { .ppid = 30 }, { .ppid = 10 }, wait, .has_previous = true,
          .expected = MATCH_PREVIOUS },
        { "no other record, own child", { .ppid = 10 }, { .ppid = 10 }, wait, .has_previous = true },
        { "no other record, adopted", { .ppid = 30 }, { .ppid = 10 }, wait_by_run, .has_previous = true },
        { "next process starts", { 0 }, { .ppid = 10 }, wait, .later = { { RECORD(fork, 150) }, end }, .later_count = 2,
          .has_previous = true },
        { "exit of a thread, then nothing", { 0 }, { .ppid = 10 }, wait,
          .later = { { RECORD(kernel_exit, 150), .flags = ENTRY_OF_THREAD } }, .later_count = 1, .has_previous = true },
        { "stop, then nothing", { 0 }, { .ppid = 10 }, wait, .later = { { RECORD(wait, 150), .flags = ENTRY_STOP } },
          .later_count = 1, .has_previous = true },
        { "thread, then its end", { 0 }, { .ppid = 10 }, wait,
          .later = { { RECORD(thread, 150), .flags = ENTRY_OF_THREAD }, end }, .later_count = 2, .has_previous = true,
          .expected = MATCH_PREVIOUS },
    };
    CHECK(cases);
}

/* Two waits are one only when they report the same exit within a second. */
static void second_wait_of_another_process(void **state)
{
    struct fixture *f = *state;
    const struct {
        double ms;
        int status;
        uint64_t us;
        size_t count;
    } cases[] = { { 999.9, 9, 25, 1 }, { 1000, 9, 25, 2 }, { 0.1, 8, 25, 2 }, { 0.1, 9, 26, 2 } };
    for (uint32_t i = 0; i < 4; i++) {
        spool_fork(&f->spool, 11 + i, 10, 10);
        spool_wait(&f->spool, 10, 11 + i, 15, 9, 25);
        spool_wait(&f->spool, 10, 11 + i, 15 + cases[i].ms, cases[i].status, cases[i].us);
    }
    const struct run *run = merge(f);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(run_count(run, 11 + i), cases[i].count);
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
        cmocka_unit_test(rules_for_kernel_fork),
        cmocka_unit_test(rules_for_fork_and_spawn),
        cmocka_unit_test(rules_for_exec),
        cmocka_unit_test(rules_for_image),
        cmocka_unit_test(rules_for_alive),
        cmocka_unit_test(rules_for_thread_and_taskstats),
        cmocka_unit_test(rules_for_end_and_kernel_exit),
        cmocka_unit_test(rules_for_wait),
        T(second_wait_of_another_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
