/* Threads: each one once, whatever the sources. */
#include "merge/threads.h"

#include "tools/merge_fixture.h"

static void add_thread(struct spool_maker *s, uint32_t pid, uint32_t tid, double start_ms, double end_ms, bool alive,
                       uint64_t us)
{
    spool_add(s, thread, .pid = pid, .tid = tid, .start_ns = AT(start_ms), .end_ns = AT(end_ms), .alive = alive,
              .name = PATH("worker"), .counters = usage_us(us, 0));
}

static void add_exit_record(struct spool_maker *s, uint32_t pid, uint32_t tid, double start_ms, double end_ms, bool last,
                            uint64_t us)
{
    spool_add(s, taskstats, .pid = pid, .tid = tid, .ppid = MAKER_RUN_PID, .start_ns = AT(start_ms), .end_ns = AT(end_ms),
              .process_ended = last, .name = PATH("comm"), .counters = usage_us(us, 0));
}

/* The probe, the proc connector and taskstats all report two threads besides the main one. */
static void all_sources_report_three_threads(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
    for (uint32_t tid = 11; tid <= 12; tid++) {
        spool_add(s, kernel_fork, .pid = 10, .ppid = MAKER_RUN_PID, .tid = tid, .time_ns = AT(tid - 1));
        add_thread(s, 10, tid, tid, tid + 10, false, 1000);
        add_exit_record(s, 10, tid, tid, tid + 12, false, 1100);
        spool_add(s, kernel_exit, .pid = 10, .tid = tid, .time_ns = AT(tid + 11));
    }
    spool_add(s, end, .pid = 10, .time_ns = AT(50), .threads = 3, .main = usage_us(300, 0), .self = usage_us(2300, 0));
    add_exit_record(s, 10, 10, 1, 51, true, 310);
    spool_kernel_exit(s, 10, 50.5, 0);
    spool_wait(s, MAKER_RUN_PID, 10, 52, 0, 2600);
    const struct run *run = merge(f);
    const struct process *p = run_process(run, 10, 0);
    assert_int_equal(p->thread_count, 3);
    assert_int_equal(counters_cpu_us(&p->counters), 2600);
    for (uint32_t i = 1; i < 3; i++) {
        const struct thread *t = &run->threads[i];
        assert_int_equal(t->tid, 10 + i);
        assert_int_equal(t->start_ns, AT(9 + i));
        assert_int_equal(t->end_ns, AT(21 + i));
        assert_int_equal(counters_cpu_us(&t->counters), 1100);
    }
    assert_int_equal(counters_cpu_us(&run->threads[0].counters), 310);
}

/* A tid is reused within the process. */
static void tid_is_reused(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
    for (int i = 0; i < 3; i++) {
        add_thread(s, 10, 11, 10 + 10 * i, 15 + 10 * i, false, 100);
        add_exit_record(s, 10, 11, 10 + 10 * i, 15.5 + 10 * i, false, 110);
    }
    assert_int_equal(run_process(merge(f), 10, 0)->thread_count, 4);
}

/* Known only by its exit, or only by its start. */
static void known_by_one_record(void **state)
{
    struct fixture *f = *state;
    spool_add(&f->spool, kernel_exit, .pid = 10, .tid = 11, .time_ns = AT(5));
    spool_add(&f->spool, kernel_fork, .pid = 10, .tid = 12, .time_ns = AT(6));
    spool_add(&f->spool, perf, .pid = 10, .tid = 13, .time_ns = AT(7));
    assert_int_equal(run_process(merge(f), 10, 0)->thread_count, 4);
}

/* A process with one thread is its thread. */
static void single_thread_has_all_counters(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_add(&f->spool, end, .pid = 10, .time_ns = AT(50), .threads = 1, .self = usage_us(900, 0),
              .main = counters_with(COUNTER_usertime, 890, COUNTER_rchar, (uint64_t)77, COUNTER_processor, (uint64_t)3,
                                    COUNTERS_SIZE));
    spool_wait(&f->spool, MAKER_RUN_PID, 10, 51, 0, 1000);
    const struct run *run = merge(f);
    assert_int_equal(run->processes[0].thread_count, 1);
    assert_int_equal(run->thread_count, 0);
    assert_int_equal(run->processes[0].counters.value[COUNTER_rchar], 77);
    assert_int_equal(run->processes[0].counters.value[COUNTER_processor], 3);
}

static struct counters io(uint64_t bytes)
{
    return counters_with(COUNTER_rchar, bytes, COUNTER_wchar, bytes, COUNTER_syscr, bytes, COUNTER_syscw, bytes,
                         COUNTER_read_bytes, bytes, COUNTER_write_bytes, bytes, COUNTER_cancelled_write_bytes, bytes,
                         COUNTERS_SIZE);
}

static struct counters usage_and_io(uint64_t us, uint64_t bytes)
{
    struct counters counters = usage_us(us, 0), more = io(bytes);
    counters_add(&counters, &more);
    return counters;
}

/* All threads were read: the process has their sum. One was not: unknown, unless the kernel's total for the process
 * helps. */
static void io_of_threads(void **state)
{
    for (int read = 0; read < 2; read++) {
        struct fixture f = { 0 };
        struct spool_maker *s = &f.spool;
        spool_maker_init(s);
        spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
        spool_add(s, thread, .pid = 10, .tid = 11, .start_ns = AT(2), .end_ns = AT(3),
                  .counters = read ? usage_and_io(10, 5) : usage_us(10, 0));
        spool_add(s, end, .pid = 10, .time_ns = AT(50), .threads = 2, .self = usage_us(900, 0),
                  .main = usage_and_io(800, 7));
        const struct counters *c = &run_process(merge(&f), 10, 0)->counters;
        assert_int_equal(counters_has(c, COUNTER_rchar), read);
        if (read)
            assert_int_equal(c->value[COUNTER_rchar], 12);
        merge_clear(&f.merged);
        spool_maker_clear(s);
    }
    (void)state;
}

/* The kernel's total of a process includes the children that it waited for: they must all be known. taskstats, which
 * lack system calls and bytes below 1 KB, change nothing. */
static void io_from_the_kernel_total(void **state)
{
    for (int turn = 0; turn < 4; turn++) {
        int known = turn & 1;
        struct fixture f = { 0 };
        struct spool_maker *s = &f.spool;
        spool_maker_init(s);
        spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
        add_thread(s, 10, 11, 2, 3, false, 10);
        spool_fork(s, 12, 10, 5);
        spool_add(s, end, .pid = 12, .time_ns = AT(6), .threads = 1, .self = usage_us(90, 0), .main = usage_and_io(90, 30),
                  .whole_io = io(30));
        if (known)
            spool_wait(s, 10, 12, 7, 0, 100);
        spool_add(s, end, .pid = 10, .time_ns = AT(50), .threads = 2, .self = usage_us(900, 0),
                  .main = usage_and_io(800, 7),
                  .children = usage_us(100, 0), .whole_io = io(100));
        if (turn > 1) {
            add_exit_record(s, 10, 11, 2, 3, false, 10);
            add_exit_record(s, 10, 10, 1, 51, true, 900);
        }
        const struct counters *c = &run_process(merge(&f), 10, 0)->counters;
        assert_int_equal(counters_has(c, COUNTER_wchar), known);
        if (known)
            assert_int_equal(c->value[COUNTER_wchar], 70);
        merge_clear(&f.merged);
        spool_maker_clear(s);
    }
    (void)state;
}

/* taskstats round bytes to whole KB: the probe's values are better where it read them. */
static void probe_bytes_have_precedence(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_add(&f->spool, end, .pid = 10, .time_ns = AT(50), .threads = 1, .self = usage_us(900, 0),
              .main = counters_with(COUNTER_rchar, 2000, COUNTER_time_oncpu, (uint64_t)900000, COUNTERS_SIZE));
    spool_add(&f->spool, taskstats, .pid = 10, .tid = 10, .start_ns = AT(1), .end_ns = AT(51), .process_ended = 1,
              .counters = counters_with(COUNTER_rchar, 1024, COUNTER_wchar, (uint64_t)4096, COUNTER_usertime, (uint64_t)950,
                                        COUNTER_systemtime, (uint64_t)0, COUNTER_time_oncpu, (uint64_t)950000,
                                        COUNTERS_SIZE));
    const struct counters *c = &run_process(merge(f), 10, 0)->counters;
    assert_int_equal(c->value[COUNTER_rchar], 2000);
    assert_int_equal(c->value[COUNTER_wchar], 4096);
    assert_int_equal(c->value[COUNTER_time_oncpu], 950000);
}

/* An exec ends the other threads: they belong to the old image, those started after it to the next one. */
static void threads_of_two_images(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
    add_thread(s, 10, 11, 2, 9.9, true, 100);
    spool_exec(s, 10, 10, "/bin/b", 500);
    spool_add(s, kernel_exit, .pid = 10, .tid = 11, .time_ns = AT(10.1));
    add_exit_record(s, 10, 11, 2, 10.9, false, 110);
    spool_image(s, 10, MAKER_RUN_PID, 10.5, "/bin/b");
    add_thread(s, 10, 12, 12, 19, false, 50);
    add_thread(s, 10, 13, 12, 19, false, 50);
    spool_end(s, 10, 20, 900, 0);
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 10, 0)->thread_count, 2);
    assert_int_equal(run_process(run, 10, 1)->thread_count, 3);
    assert_int_equal(run->threads[1].tid, 11);
    assert_int_equal(counters_cpu_us(&run->threads[1].counters), 110);
}

/* The exec failed, and the thread wrote another record at its end. */
static void thread_survives_a_failed_exec(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
    add_thread(s, 10, 11, 2, 9.9, true, 100);
    spool_exec(s, 10, 10, "/bin/b", 500);
    spool_add(s, exec_failed, .pid = 10, .time_ns = AT(10.1));
    add_thread(s, 10, 11, 2, 19, false, 300);
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 10, 0)->thread_count, 2);
    assert_int_equal(counters_cpu_us(&run->threads[1].counters), 300);
    assert_int_equal(run->threads[1].end_ns, AT(19));
}

/* Of an image that exec'd, one thread is described in the exec record, the others in their own. */
static void io_before_an_exec(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_add(s, thread, .pid = 10, .tid = 11, .start_ns = AT(2), .end_ns = AT(9), .alive = 1,
              .counters = usage_and_io(10, 5));
    spool_add(s, exec, .pid = 10, .time_ns = AT(10), .copied = 1, .path = PATH("/bin/b"), .args = TEXT("/bin/b"),
              .self = usage_and_io(500, 30));
    spool_image(s, 10, MAKER_RUN_PID, 11, "/bin/b");
    spool_add(s, end, .pid = 10, .time_ns = AT(20), .threads = 1, .self = usage_us(900, 0), .main = usage_and_io(890, 100));
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 10, 0)->counters.value[COUNTER_rchar], 35);
    assert_int_equal(counters_cpu_us(&run_process(run, 10, 0)->counters), 500);
    assert_int_equal(run->threads[0].counters.value[COUNTER_rchar], 30);
    assert_int_equal(run_process(run, 10, 1)->counters.value[COUNTER_rchar], 70);
}

/* A non-main thread execs: it becomes the main thread of the new image; the others end, and their exits are reported
 * shortly after the exec. */
static void non_main_thread_execs(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    struct counters none = { 0 };
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
    for (uint32_t tid = 11; tid <= 12; tid++)
        spool_add(s, kernel_fork, .pid = 10, .ppid = 1, .time_ns = AT(2), .tid = tid);
    spool_add(s, exec, .pid = 10, .time_ns = AT(10), .copied = 1, .path = PATH("/bin/b"), .args = TEXT("/bin/b"),
              .self = usage_and_io(12000, 30), .tid = 12, .name = TEXT("worker"), .thread = usage_us(4000, 0),
              .whole_io = usage_and_io(0, 500));
    spool_kernel_exec(s, 10, 10.5, "/bin/b");
    spool_add(s, kernel_exit, .pid = 10, .tid = 11, .time_ns = AT(10.6));
    spool_add(s, kernel_fork, .pid = 10, .ppid = 1, .time_ns = AT(11), .tid = 11); /* the tid again, in the new image */
    spool_add(s, kernel_exit, .pid = 10, .tid = 11, .time_ns = AT(12));
    spool_add(s, end, .pid = 10, .time_ns = AT(20), .threads = 2, .self = usage_us(20000, 0),
              .main = usage_and_io(9000, 100),
              .children = none);
    const struct run *run = merge(f);
    const struct process *first = run_process(run, 10, 0), *second = run_process(run, 10, 1);
    assert_int_equal(first->thread_count, 3);
    assert_int_equal(second->thread_count, 2);
    const struct thread *threads = run->threads;
    assert_int_equal(threads[1].end_ns, AT(10.6));
    assert_int_equal(threads[2].tid, 12);
    assert_string_equal(threads[2].name, "worker");
    assert_int_equal(counters_cpu_us(&threads[2].counters), 4000);
    assert_int_equal(threads[2].end_ns, AT(10));
    assert_int_equal(counters_cpu_us(&threads[3].counters), 5000); /* 9000 minus what it used before */
    assert_int_equal(threads[3].counters.value[COUNTER_rchar], 70);
}

/* If the new image has one thread, its I/O is the process's, including the threads that the exec ended. */
static void io_of_one_thread_after_several(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_add(s, exec, .pid = 10, .time_ns = AT(10), .copied = 1, .path = PATH("/bin/b"), .args = TEXT("/bin/b"),
              .self = usage_and_io(12000, 30), .tid = 12, .thread = usage_us(4000, 0), .whole_io = usage_and_io(0, 500));
    spool_image(s, 10, MAKER_RUN_PID, 11, "/bin/b");
    spool_add(s, end, .pid = 10, .time_ns = AT(20), .threads = 1, .self = usage_us(20000, 0),
              .main = usage_and_io(9000, 620));
    const struct run *run = merge(f);
    assert_int_equal(run_process(run, 10, 1)->counters.value[COUNTER_rchar], 120);
}

/* A script waits for a child and becomes a program with threads whose I/O is unknown: the total at the end minus the
 * total at the exec, minus the child that the program itself waited for. Or the total at the exec is unknown. */
static void io_after_a_wrapper(void **state)
{
    enum { KNOWN, ALONE, UNKNOWN };
    for (int turn = KNOWN; turn <= UNKNOWN; turn++) {
        struct fixture f = { 0 };
        struct spool_maker *s = &f.spool;
        struct counters none = { 0 };
        spool_maker_init(s);
        spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
        if (turn != ALONE) {
            spool_fork(s, 12, 10, 2);
            spool_add(s, end, .pid = 12, .time_ns = AT(3), .threads = 1, .self = usage_us(90, 0),
                      .main = usage_and_io(90, 30),
                      .whole_io = io(30));
            spool_wait(s, 10, 12, 4, 0, 100);
        }
        spool_add(s, exec, .pid = 10, .time_ns = AT(10), .copied = 1, .path = PATH("/bin/b"), .args = TEXT("/bin/b"),
                  .self = usage_and_io(20000, 7), .children = usage_us(turn == ALONE ? 0 : 100, 0),
                  .own = counters_with(COUNTER_rchar, 3, COUNTERS_SIZE), .whole_io = turn == KNOWN ? io(40) : none);
        spool_image(s, 10, MAKER_RUN_PID, 11, "/bin/b");
        add_thread(s, 10, 11, 12, 13, false, 10);
        spool_fork(s, 13, 10, 14);
        spool_add(s, end, .pid = 13, .time_ns = AT(15), .threads = 1, .self = usage_us(190, 0),
                  .main = usage_and_io(190, 50),
                  .whole_io = io(50));
        spool_wait(s, 10, 13, 16, 0, 200);
        spool_add(s, end, .pid = 10, .time_ns = AT(50), .threads = 2, .self = usage_us(30000, 0),
                  .main = usage_and_io(29000, 17),
                  .children = usage_us(turn == ALONE ? 200 : 300, 0), .whole_io = io(1000));
        const struct counters *c = &run_process(merge(&f), 10, 1)->counters;
        assert_int_equal(counters_has(c, COUNTER_rchar), turn != UNKNOWN);
        if (turn != UNKNOWN)
            assert_int_equal(c->value[COUNTER_rchar], turn == KNOWN ? 1000 - 50 - 40 : 1000 - 50 - 7 - 3);
        merge_clear(&f.merged);
        spool_maker_clear(s);
    }
    (void)state;
}

/* Without taskstats. */
static void name_of_the_main_thread(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    add_thread(&f->spool, 10, 11, 2, 3, false, 10);
    spool_add(&f->spool, end, .pid = 10, .time_ns = AT(20), .threads = 2, .self = usage_us(900, 0),
              .main = usage_us(890, 0),
              .name = PATH("first"));
    const struct run *run = merge(f);
    assert_string_equal(run->threads[0].name, "first");
    assert_string_equal(run->threads[1].name, "worker");
}

static void many_threads(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    for (uint32_t i = 8000; i > 0; i--)
        add_thread(&f->spool, 10, 1000 + i, 1 + i, 2 + i, false, 10);
    spool_add(&f->spool, end, .pid = 10, .time_ns = AT(9000), .threads = 8001, .self = usage_us(90000, 0));
    const struct run *run = merge(f);
    assert_int_equal(run->thread_count, 8001);
    for (uint32_t i = 1; i <= 8000; i++)
        assert_int_equal(run->threads[i].tid, 1000 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(all_sources_report_three_threads), T(tid_is_reused), T(known_by_one_record), T(single_thread_has_all_counters),
        T(io_of_threads), T(io_from_the_kernel_total), T(probe_bytes_have_precedence), T(threads_of_two_images),
        T(thread_survives_a_failed_exec), T(io_before_an_exec),
        T(non_main_thread_execs), T(io_of_one_thread_after_several), T(io_after_a_wrapper), T(name_of_the_main_thread),
        T(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
