/* Process instances: records of one pid, by several writers and in any order, become exactly one process each. */
#include "merge/merge.h"

#include "tools/merge_fixture.h"

static void all_sources_one_process(void **state)
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
    assert_int_equal(p->sources, SEEN_CONNECTOR);
}

static void known_only_by_a_kernel_fork(void **state)
{
    struct fixture *f = *state;
    spool_kernel_fork(&f->spool, 11, MAKER_RUN_PID, 12);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->start_ns, AT(12));
    assert_int_equal(p->sources, SEEN_CONNECTOR);
}

/* Group, session and user are those of the record that the process wrote itself; other records fill what it lacks. */
static void ids_of_several_records(void **state)
{
    struct fixture *f = *state;
    for (uint32_t pid = 11; pid < 13; pid++) {
        if (pid == 11)
            spool_add(&f->spool, image, .pid = pid, .ppid = MAKER_RUN_PID, .pgid = 50, .sid = 40, .uid = 1000,
                      .time_ns = AT(1), .path = PATH("/bin/a"));
        spool_add(&f->spool, kernel_exec, .pid = pid, .ppid = MAKER_RUN_PID, .pgid = 51, .sid = 41, .uid = 1001,
                  .stat_known = 1, .time_ns = AT(1.1), .path = PATH("/bin/a"));
    }
    const struct run *run = merge(f);
    for (uint32_t i = 0; i < 2; i++) {
        const struct process *p = run_process(run, 11 + i, 0);
        assert_true(p->pgid_known && p->sid_known && p->uid_known);
        assert_int_equal(p->pgid, 50 + i);
        assert_int_equal(p->sid, 40 + i);
        assert_int_equal(p->uid, 1000 + i);
    }
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

static void init_of_a_pid_namespace(void **state)
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

static void sonde_run_is_excluded(void **state)
{
    struct fixture *f = *state;
    spool_kernel_exit(&f->spool, MAKER_RUN_PID, 12, 0);
    assert_int_equal(merge(f)->process_count, 0);
}

static void thread_waited_for_by_a_tracer(void **state)
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
    spool_wait(s, 10, 14, 42, 0, 5000);       /* no other record: a process */
    spool_wait(s, 10, 15, 5000, 0, 5000);     /* long after a thread with this id */
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

/* A child whose parent's pid is known, but only as that of a process which ended long before: another process must have had
 * the pid. Within a second of its end the process itself may still be the parent, because clocks differ. */
static void parent_ended_long_before_the_child_started(void **state)
{
    struct fixture *f = *state;
    spool_kernel_fork(&f->spool, 11, MAKER_RUN_PID, 1);
    spool_kernel_exit(&f->spool, 11, 3, 0);
    spool_image(&f->spool, 12, MAKER_RUN_PID, 9000, "/bin/a"); /* the next in the list, and not the parent */
    spool_kernel_fork(&f->spool, 20, 11, 900);
    spool_kernel_fork(&f->spool, 21, 11, 5000);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    const struct process *ended = &run->processes[run_process(run, 20, 0)->parent];
    const struct process *unrecorded = &run->processes[run_process(run, 21, 0)->parent];
    assert_int_equal(ended->end_ns, AT(3));
    assert_int_equal(unrecorded->pid, 11);
    assert_int_equal(unrecorded->sources, SEEN_CHILD);
}

/* The parent's first record is later than its child's start: it may have been running before, unless its start is exact. */
static void parent_recorded_after_the_child_started(void **state)
{
    struct fixture *f = *state;
    spool_kernel_fork(&f->spool, 20, 11, 50);
    spool_wait(&f->spool, MAKER_RUN_PID, 11, 100, 0, 700);
    spool_kernel_fork(&f->spool, 21, 12, 50);
    spool_kernel_fork(&f->spool, 12, MAKER_RUN_PID, 100);
    spool_kernel_fork(&f->spool, 22, 13, 50);
    spool_fork(&f->spool, 13, MAKER_RUN_PID, 100);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run->processes[run_process(run, 20, 0)->parent].sources, SEEN_WAIT);
    assert_int_equal(run_count(run, 12), 2);
    assert_int_equal(run->processes[run_process(run, 21, 0)->parent].sources, SEEN_CHILD);
    assert_int_equal(run_count(run, 13), 2);
    assert_int_equal(run->processes[run_process(run, 22, 0)->parent].sources, SEEN_CHILD);
}

/* Several records report the start: the kernel's fork event counts most, then the fork record, then the earliest of the rest. */
static void best_known_start(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_fork(s, 11, 10, 10);
    spool_kernel_fork(s, 11, 10, 10.5);
    spool_fork(s, 12, 10, 10);
    spool_taskstats(s, 12, 10, 5, 20, 700);
    spool_image(s, 13, 10, 10, "/bin/a");
    spool_add(s, thread, .pid = 13, .tid = 13, .start_ns = AT(5), .end_ns = AT(20));
    spool_image(s, 14, 10, 5, "/bin/a");
    spool_add(s, thread, .pid = 14, .tid = 14, .start_ns = AT(10), .end_ns = AT(20));
    spool_image(s, 15, 10, 10, "/bin/a");
    spool_add(s, thread, .pid = 15, .tid = 115, .start_ns = AT(5), .end_ns = AT(20)); /* another thread */
    spool_image(s, 16, 10, 10, "/bin/a");
    spool_taskstats(s, 16, 10, 5, 20, 700);
    spool_image(s, 17, 10, 10, "/bin/a");
    spool_add(s, taskstats, .pid = 17, .tid = 117, .ppid = 10, .start_ns = AT(5), .end_ns = AT(20));
    spool_add(s, alive, .pid = 18, .ppid = 10, .start_ticks = 1000, .time_ns = AT(30)); /* says nothing about the start */
    spool_image(s, 19, 10, 10, "/bin/a");
    spool_add(s, thread, .pid = 19, .tid = 19, .end_ns = AT(20)); /* start unknown */
    const struct run *run = merge(f);
    const double start_ms[] = { 10.5, 10, 5, 5, 10, 5, 10 };
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(run_process(run, 11 + i, 0)->start_ns, AT(start_ms[i]));
    assert_int_equal(run_process(run, 18, 0)->start_ns, 0);
    assert_int_equal(run_process(run, 19, 0)->start_ns, AT(10));
}

/* The end, in order of increasing weight: wait, end record of the probe, taskstats, the kernel's exit event. */
static void best_known_end(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    for (uint32_t i = 0; i < 4; i++) {
        spool_fork(s, 11 + i, 10, 1);
        if (i > 0)
            spool_end(s, 11 + i, 9, 100, 0);
        if (i > 1)
            spool_taskstats(s, 11 + i, 10, 1, 11, 100);
        if (i > 2)
            spool_kernel_exit(s, 11 + i, 10, 0);
        spool_wait(s, 10, 11 + i, 12, 0, 100);
    }
    const struct run *run = merge(f);
    const double end_ms[] = { 12, 9, 11, 10 };
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(run_process(run, 11 + i, 0)->end_ns, AT(end_ms[i]));
        assert_int_equal(run_process(run, 11 + i, 0)->state, PROCESS_ENDED);
    }
}

static void exit_of_one_thread_is_not_the_end(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    for (uint32_t i = 0; i < 4; i++) {
        spool_kernel_fork(s, 11 + i, 10, 1);
        spool_add(s, kernel_fork, .pid = 11 + i, .ppid = 10, .tid = 111 + i, .time_ns = AT(2));
        spool_add(s, kernel_exit, .pid = 11 + i, .tid = 111 + i, .time_ns = AT(5));
    }
    spool_wait(s, 10, 12, 20, 0, 100);
    spool_end(s, 13, 20, 100, 0);
    spool_kernel_exit(s, 14, 20, 0);
    spool_run_end(s, 50, 0);
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 11, 0)->state, PROCESS_LOST);
    for (uint32_t pid = 12; pid < 15; pid++)
        assert_int_equal(run_process(run, pid, 0)->state, PROCESS_ENDED);
    assert_int_equal(run_process(run, 14, 0)->end_ns, AT(20));
}

/* The main thread may exit first. The process has exited with its last thread. */
static void main_thread_exits_first(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, 10, 1);
    spool_add(s, kernel_fork, .pid = 11, .ppid = 10, .tid = 12, .time_ns = AT(2));
    spool_kernel_exit(s, 11, 3, 0);
    spool_image(s, 11, 10, 4, "/bin/a"); /* still the same process */
    spool_add(s, kernel_exit, .pid = 11, .tid = 12, .time_ns = AT(6));
    spool_image(s, 11, 10, 7, "/bin/b");
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_int_equal(run->processes[1].end_ns, AT(6));
    assert_bytes(run->processes[1].path, "/bin/a");
    assert_bytes(run->processes[2].path, "/bin/b");
}

/* Records about one thread, or about a stop, do not count as such records about the process: the fork record and the exit of the
 * main thread that follow are those of the same process. */
static void threads_and_stops_come_before_the_process(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, 10, 1);
    spool_wait(s, 20, 11, 1.5, 0x137f, 0); /* stopped at its start, by a tracer */
    spool_fork(s, 11, 10, 2);
    spool_kernel_fork(s, 12, 10, 1);
    spool_add(s, kernel_fork, .pid = 12, .ppid = 10, .tid = 112, .time_ns = AT(2));
    spool_add(s, kernel_exit, .pid = 12, .tid = 112, .time_ns = AT(5));
    spool_taskstats(s, 12, 10, 1, 6, 100);
    spool_kernel_exit(s, 12, 6.1, 0);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    assert_int_equal(run_count(run, 12), 1);
    assert_int_equal(run_process(run, 12, 0)->end_ns, AT(6.1));
}

/* What a child used is part of its parent's total if the parent waited for it, although a tracer waited first, or after. */
static void tracer_and_parent_wait(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    for (uint32_t tracer_first = 0; tracer_first < 2; tracer_first++) {
        uint32_t parent = 10 + 10 * tracer_first, child = parent + 1;
        spool_fork(s, parent, MAKER_RUN_PID, 1);
        spool_fork(s, child, parent, 2);
        spool_wait(s, tracer_first ? 60 : parent, child, 5, 0, 700);
        spool_wait(s, tracer_first ? parent : 60, child, 5.1, 0, 700);
        spool_wait(s, MAKER_RUN_PID, parent, 9, 0, 1000);
    }
    const struct run *run = merge(f);
    for (uint32_t pid = 10; pid <= 20; pid += 10) {
        assert_int_equal(run_process(run, pid, 0)->inclusive_cpu_us, 1000);
        assert_int_equal(counters_cpu_us(&run_process(run, pid, 0)->counters), 300);
    }
}

/* A start after the end can only be due to clocks that differ: no negative durations. */
static void start_is_never_after_the_end(void **state)
{
    struct fixture *f = *state;
    spool_taskstats(&f->spool, 11, 10, 12, 11, 100);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->start_ns, AT(11));
    assert_int_equal(p->end_ns, AT(11));
}

/* A ppid that names sonde run may be that of an adopted orphan, so it counts less than any other, unless it was recorded when
 * the process started. */
static void best_known_parent(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 11, MAKER_RUN_PID, 1, "/bin/a");
    spool_wait(s, 10, 11, 9, 0, 100);
    spool_fork(s, 12, MAKER_RUN_PID, 1);
    spool_wait(s, 10, 12, 9, 0, 100);
    spool_add(s, spawn, .pid = 13, .ppid = MAKER_RUN_PID, .time_ns = AT(1), .path = PATH("/bin/a"));
    spool_wait(s, 10, 13, 9, 0, 100);
    spool_image(s, 14, 14, 1, "/bin/a"); /* its own parent: wrong */
    spool_wait(s, 10, 14, 9, 0, 100);
    spool_add(s, alive, .pid = 15, .ppid = 20, .time_ns = AT(1)); /* less than the image record */
    spool_image(s, 15, 10, 2, "/bin/a");
    spool_image(s, 16, 10, 1, "/bin/a");
    spool_add(s, alive, .pid = 16, .ppid = 20, .time_ns = AT(2));
    spool_image(s, 17, 20, 1, "/bin/a"); /* less than the exec record */
    spool_add(s, exec, .pid = 17, .ppid = 10, .time_ns = AT(2), .copied = 1, .path = PATH("/bin/b"));
    spool_taskstats(s, 18, 10, 1, 9, 100); /* more than the wait */
    spool_wait(s, 20, 18, 9.5, 0, 100);
    spool_fork(s, 19, 20, 1);
    spool_kernel_fork(s, 19, 10, 1.5);
    spool_image(s, 30, 0, 1, "/bin/a"); /* unknown */
    spool_wait(s, 10, 30, 9, 0, 100);
    spool_add(s, image, .pid = 31, .ppid = 1ull << 32 | 20, .time_ns = AT(1), .path = PATH("/bin/a")); /* no pid */
    spool_wait(s, 10, 31, 9, 0, 100);
    spool_image(s, 32, 10, 1, "/bin/a");
    spool_image(s, 32, 20, 2, "/bin/b"); /* orphaned in between and adopted by another process than sonde run */
    const struct run *run = merge(f);
    for (uint32_t pid = 30; pid < 32; pid++)
        assert_int_equal(run_process(run, pid, 0)->ppid, 10);
    assert_int_equal(run_process(run, 32, 1)->ppid, 10);
    const uint32_t ppid[] = { 10, 10, MAKER_RUN_PID, 10, 10, 10, 10, 10, 10 };
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(run_process(run, 11 + i, 0)->ppid, ppid[i]);
}

/* More processes and records of one pid than the first allocations hold; each child belongs to the one that ran at the time. */
static void many_processes_with_one_pid(void **state)
{
    struct fixture *f = *state;
    const uint32_t count = 300;
    for (uint32_t i = 0; i < count; i++) {
        spool_kernel_fork(&f->spool, 11, MAKER_RUN_PID, 10 * i);
        spool_kernel_fork(&f->spool, 1000 + i, 11, 10 * i + i % 3);
        spool_wait(&f->spool, MAKER_RUN_PID, 11, 10 * i + 5, 0, i);
    }
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 2 * count);
    assert_int_equal(run_count(run, 11), count);
    for (uint32_t i = 0; i < count; i++) {
        const struct process *parent = &run->processes[run_process(run, 1000 + i, 0)->parent];
        assert_int_equal(parent->pid, 11);
        assert_int_equal(parent->start_ns, AT(10 * i));
        assert_int_equal(parent->end_ns, AT(10 * i + 5));
        assert_int_equal(counters_cpu_us(&parent->counters), i);
    }
}

/* A second after its end, and no longer, a process may still be recorded as parent. */
static void parent_ended_just_before_the_child_started(void **state)
{
    struct fixture *f = *state;
    spool_kernel_fork(&f->spool, 11, MAKER_RUN_PID, 1);
    spool_kernel_exit(&f->spool, 11, 3, 0);
    spool_kernel_fork(&f->spool, 20, 11, 1003);
    spool_kernel_fork(&f->spool, 21, 11, 1003.001);
    const struct run *run = merge(f);
    assert_int_equal(run->processes[run_process(run, 20, 0)->parent].end_ns, AT(3));
    assert_int_equal(run->processes[run_process(run, 21, 0)->parent].sources, SEEN_CHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(all_sources_one_process),
        T(known_only_by_a_wait),
        T(known_only_by_a_kernel_exit),
        T(known_only_by_a_kernel_fork),
        T(ids_of_several_records),
        T(known_only_by_taskstats),
        T(known_only_by_a_spawn),
        T(known_only_by_an_exec),
        T(known_only_by_its_child),
        T(init_of_a_pid_namespace),
        T(sonde_run_is_excluded),
        T(thread_waited_for_by_a_tracer),
        T(parent_ended_long_before_the_child_started),
        T(parent_recorded_after_the_child_started),
        T(best_known_start),
        T(best_known_end),
        T(exit_of_one_thread_is_not_the_end),
        T(main_thread_exits_first),
        T(threads_and_stops_come_before_the_process),
        T(tracer_and_parent_wait),
        T(start_is_never_after_the_end),
        T(best_known_parent),
        T(many_processes_with_one_pid),
        T(parent_ended_just_before_the_child_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
