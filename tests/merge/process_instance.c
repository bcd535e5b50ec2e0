/* Which process was which: records of one pid, by however many writers and in whatever order, become one process record
 * per process, never two and never none. */
#include "merge/merge.h"

#include "tools/merge_fixture.h"

/* All sources at once: one process. */
static void all_sources_tell_of_one_process(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_kernel_fork(s, 11, 10, 10);
    spool_fork(s, 11, 10, 10.1);
    spool_exec(s, 11, 10.2, "/bin/true", 100);
    spool_kernel_exec(s, 11, 10.3, "/bin/true");
    spool_image(s, 11, 10, 11, "/bin/true");
    spool_end(s, 11, 12, 900, 0);
    spool_taskstats(s, 11, 10, 10, 12.2, 950);
    spool_kernel_exit(s, 11, 12.1, 0);
    spool_wait(s, 10, 11, 12.5, 0, 1000);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 2);
    const struct process *p = run_process(run, 11, 0);
    assert_int_equal(p->start_ns, AT(10));
    assert_int_equal(p->end_ns, AT(12.1));
    assert_int_equal(p->state, PROCESS_ENDED);
    assert_true(p->status_known);
    assert_int_equal(counters_cpu_us(&p->counters), 1000);
    assert_int_equal(p->sources, SEEN_PROBE | SEEN_WAIT | SEEN_CONNECTOR | SEEN_TASKSTATS | SEEN_PARENT);
    assert_bytes(p->path, "/bin/true");
    assert_bytes(p->name, "true");
}

/* A fork known by the probe and by the kernel, whichever clock comes first. */
static void a_fork_told_twice_is_one(void **state)
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

/* One record of any kind is enough for a process to be there. */
static void known_only_by_a_wait(void **state)
{
    struct fixture *f = *state;
    spool_wait(&f->spool, MAKER_RUN_PID, 11, 12, 3 << 8, 700);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->state, PROCESS_ENDED);
    assert_int_equal(p->start_ns, 0);
    assert_int_equal(p->end_ns, AT(12));
    assert_int_equal(p->exit_code, 3);
    assert_int_equal(counters_cpu_us(&p->counters), 700);
    assert_int_equal(p->sources, SEEN_WAIT);
    assert_int_equal(p->parent, PROCESS_NO_PARENT);
}

static void known_only_by_a_kernel_exit(void **state)
{
    struct fixture *f = *state;
    spool_kernel_exit(&f->spool, 11, 12, 9);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->state, PROCESS_ENDED);
    assert_int_equal(p->exit_signal, 9);
    assert_int_equal(p->counters.known, 0);
}

static void known_only_by_taskstats(void **state)
{
    struct fixture *f = *state;
    spool_taskstats(&f->spool, 11, MAKER_RUN_PID, 5, 12, 700);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->start_ns, AT(5));
    assert_int_equal(p->end_ns, AT(12));
    assert_bytes(p->name, "comm");
    assert_int_equal(counters_cpu_us(&p->counters), 700);
}

static void known_only_by_a_spawn(void **state)
{
    struct fixture *f = *state;
    spool_add(&f->spool, spawn, .pid = 11, .ppid = MAKER_RUN_PID, .time_ns = AT(4), .path = PATH("/bin/a"),
              .args = TEXT("a"));
    spool_run_end(&f->spool, 50, 0);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->state, PROCESS_LOST);
    assert_bytes(p->path, "/bin/a");
    assert_int_equal(p->sources, SEEN_PARENT);
}

static void known_only_by_an_exec(void **state)
{
    struct fixture *f = *state;
    spool_add(&f->spool, exec, .pid = 11, .ppid = MAKER_RUN_PID, .time_ns = AT(4), .path = PATH("/bin/a"));
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->ppid, MAKER_RUN_PID);
    assert_int_equal(p->start_ns, AT(4));
    assert_bytes(p->path, "/bin/a");
}

static void known_only_by_its_child(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 11, 77, 5, "/bin/a");
    spool_image(&f->spool, 12, 77, 6, "/bin/b");
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 3);
    const struct process *p = run_process(run, 77, 0);
    assert_int_equal(p->sources, SEEN_CHILD);
    assert_int_equal(p->state, PROCESS_LOST);
    assert_int_equal(p->last, 2);
}

/* The same pid again after a wait. */
static void a_pid_is_used_again(void **state)
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

/* Nobody saw the end of the first: start_ticks tell. */
static void a_pid_is_used_again_unseen(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++)
        spool_add(&f->spool, image, .pid = 11, .ppid = MAKER_RUN_PID, .start_ticks = 500 + 7 * (uint64_t)i,
                  .time_ns = AT(10 + 10 * i), .path = PATH("/bin/a"), .args = TEXT("a"));
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[0].image + run->processes[1].image, 0);
}

/* Nor the end of a child of vfork: another one that has had no image of its own is another one. */
static void a_vfork_child_with_a_used_pid(void **state)
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

/* exec keeps the ticks. */
static void the_same_ticks_are_the_same_process(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++)
        spool_add(&f->spool, image, .pid = 11, .ppid = MAKER_RUN_PID, .start_ticks = 500, .time_ns = AT(10 + 10 * i),
                  .path = PATH("/bin/a"), .args = TEXT("a"));
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 11, 0)->state, PROCESS_EXECED);
    assert_int_equal(run_process(run, 11, 1)->state, PROCESS_LOST);
}

/* A fork while another process had the pid, as far as was seen: that one has ended. */
static void a_fork_ends_who_had_the_pid(void **state)
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

/* The parent was halted between wait and its look at the clock: the pid was in use again. */
static void a_wait_that_is_late_in_time(void **state)
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

/* Its clock was right, but it wrote late. */
static void a_wait_that_is_late_in_the_file(void **state)
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

/* Two that were killed, known by fork and wait alone. */
static void killed_ones_with_one_pid(void **state)
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

/* Exit records are read late and in another order than they happened. */
static void taskstats_after_the_pid_was_used_again(void **state)
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

static void taskstats_alone_tell_two_apart(void **state)
{
    struct fixture *f = *state;
    spool_taskstats(&f->spool, 11, MAKER_RUN_PID, 10, 20, 700);
    spool_taskstats(&f->spool, 11, MAKER_RUN_PID, 20.5, 30, 800);
    assert_int_equal(run_count(merge(f), 11), 2);
}

/* posix_spawn: the parent looked at the clock before, or wrote after the child had ended. */
static void a_spawn_before_and_after_its_child(void **state)
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

/* A tracer is told of the end of processes that are not its children; their parent is told after it. */
static void a_tracer_waits_too(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 10, 10);
    spool_wait(&f->spool, 60, 11, 15, 9, 25);
    spool_wait(&f->spool, 10, 11, 15.1, 9, 25);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run_process(run, 11, 0)->ppid, 10);
}

static void a_stop_is_no_end(void **state)
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

/* The probe spoke its last word, then something exec'd all the same. */
static void an_end_that_was_none(void **state)
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

/* vfork: the child execs with its parent's memory, possibly after tries that failed. */
static void a_vfork_child(void **state)
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

/* exec by another thread than the main one: the old main thread ends, the process does not. */
static void an_exec_by_another_thread(void **state)
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

/* The same as root: each of the two exits has an exit record before it, the second of which says that the process is over. */
static void exit_records_of_an_exec_by_another_thread(void **state)
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

/* The first process of a pid namespace knows itself as pid 1 only; its parent, outside, waits for another pid. */
static void the_init_of_another_namespace(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/usr/bin/unshare");
    for (uint32_t i = 0; i < 2; i++) {
        spool_fork(s, 1, 10, 10 + 10 * i);
        spool_image(s, 1, 0, 11 + 10 * i, "/bin/sh");
        spool_fork(s, 2, 1, 12 + 10 * i);
        spool_end(s, 2, 13 + 10 * i, 90, 0);
        spool_wait(s, 1, 2, 13.5 + 10 * i, 0, 100);
        spool_end(s, 1, 14 + 10 * i, 500, 100);
        spool_wait(s, 10, 11 + i, 15 + 10 * i, 0, 700);
    }
    spool_end(s, 10, 90, 1000, 1400);
    spool_wait(s, MAKER_RUN_PID, 10, 91, 0, 2500);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 5);
    assert_int_equal(run->processes[0].inclusive_cpu_us, 2500);
    assert_int_equal(run_count(run, 11) + run_count(run, 12), 0);
    for (uint32_t i = 1; i < 5; i++)
        assert_int_equal(run->processes[i].parent, i % 2 ? 0 : i - 1);
    assert_int_equal(counters_cpu_us(&run->processes[1].counters), 600);
    assert_true(run->processes[1].sources & SEEN_WAIT);
}

/* The fork of a thread was lost: its exit does not end the process. */
static void an_exit_of_an_unknown_thread(void **state)
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

/* The kernel writes a task's exit record some time before its end, which is much on a busy machine: it can be found in /proc
 * in between. One with its pid that began later is another one. */
static void one_that_is_seen_after_its_exit_record(void **state)
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
    assert_int_equal(run->processes[1].state, PROCESS_LOST); /* when it began is not known */
    assert_int_equal(run->processes[2].end_ns, AT(40.6));
    assert_int_equal(counters_cpu_us(&run->processes[2].counters), 800);
}

/* sonde run itself is not of the job. */
static void the_watcher_is_left_out(void **state)
{
    struct fixture *f = *state;
    spool_kernel_exit(&f->spool, MAKER_RUN_PID, 12, 0);
    assert_int_equal(merge(f)->process_count, 0);
}

/* strace and gdb wait for every thread, by its tid. */
static void a_thread_that_a_tracer_waited_for(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/usr/bin/strace");
    spool_image(s, 11, 10, 2, "/bin/a");
    spool_add(s, thread, .pid = 11, .tid = 12, .start_ns = AT(3), .end_ns = AT(40), .counters = usage_us(30000, 0));
    spool_add(s, kernel_fork, .pid = 11, .ppid = 10, .time_ns = AT(3), .tid = 13);
    spool_add(s, kernel_exit, .pid = 11, .tid = 13, .time_ns = AT(41));
    spool_wait(s, 10, 12, 41, 0, 30000);
    spool_wait(s, 10, 13, 42, 0, 30000);
    spool_wait(s, 10, 14, 42, 0, 5000);       /* of whom nobody else has told: a process */
    spool_wait(s, 10, 15, 5000, 0, 5000);     /* long after a thread with this number */
    spool_add(s, kernel_exit, .pid = 11, .tid = 15, .time_ns = AT(43));
    spool_end(s, 11, 45, 61000, 0);
    spool_wait(s, 10, 11, 46, 0, 61500);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 4);
    assert_int_equal(run_count(run, 12) + run_count(run, 13), 0);
    assert_int_equal(run_count(run, 14), 1);
    assert_int_equal(run_count(run, 15), 1);
    assert_int_equal(counters_cpu_us(&run_process(run, 11, 0)->counters), 61500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_thread_that_a_tracer_waited_for),
        T(all_sources_tell_of_one_process), T(a_fork_told_twice_is_one), T(known_only_by_a_wait),
        T(known_only_by_a_kernel_exit), T(known_only_by_taskstats), T(known_only_by_a_spawn), T(known_only_by_an_exec),
        T(known_only_by_its_child), T(a_pid_is_used_again), T(a_pid_is_used_again_unseen), T(a_vfork_child_with_a_used_pid),
        T(the_same_ticks_are_the_same_process), T(a_fork_ends_who_had_the_pid), T(a_wait_that_is_late_in_time),
        T(a_wait_that_is_late_in_the_file), T(killed_ones_with_one_pid), T(taskstats_after_the_pid_was_used_again),
        T(taskstats_alone_tell_two_apart), T(a_spawn_before_and_after_its_child), T(a_tracer_waits_too), T(a_stop_is_no_end),
        T(an_end_that_was_none), T(a_vfork_child), T(an_exec_by_another_thread),
        T(exit_records_of_an_exec_by_another_thread), T(an_exit_of_an_unknown_thread),
        T(one_that_is_seen_after_its_exit_record), T(the_watcher_is_left_out), T(the_init_of_another_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
