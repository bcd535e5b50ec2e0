/* The run as a whole: its attributes, interrupted runs, damage, and records of a newer version. */
#include "merge/merge.h"

#include "tools/merge_fixture.h"
#include "tools/temp.h"

#include <signal.h>

static void run_attributes(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_maker_clear(s);
    spool_maker_init_empty(s);
    spool_add(s, run, .run_id = PATH("r1"), .job_id = PATH("j1"), .name = PATH("n"), .user = PATH("u"), .uid = 7,
              .command = TEXT("make\0-j"), .cwd = PATH("/w"), .tags = PATH("k:v"), .host = PATH("h"), .kernel = PATH("6.1"),
              .cpu_model = PATH("cpu"), .cores = 8, .memory_bytes = 99, .cores_allowed_milli = 1500,
              .memory_limit_bytes = 77, .period_ns = 5, .time_ns = AT(0), .events = TEXT("page-faults\0cycles"), .pid = 100);
    spool_add(s, run_end, .time_ns = AT(9), .status_known = 1, .status = SIGTERM, .total = usage_us(3, 4),
              .records_lost = 1, .events_lost = 2, .ticks_late = 3);
    const struct run *run = merge(f);
    assert_bytes(run->id, "r1");
    assert_bytes(run->job_id, "j1");
    assert_bytes(run->name, "n");
    assert_bytes(run->user, "u");
    assert_int_equal(run->uid, 7);
    assert_bytes(run->command, "make\0-j\0");
    assert_bytes(run->cwd, "/w");
    assert_bytes(run->tags, "k:v");
    assert_bytes(run->host.name, "h");
    assert_bytes(run->host.kernel, "6.1");
    assert_bytes(run->host.cpu_model, "cpu");
    assert_int_equal(run->host.cores, 8);
    assert_int_equal(run->host.memory_bytes, 99);
    assert_int_equal(run->cores_allowed_milli, 1500);
    assert_int_equal(run->memory_limit_bytes, 77);
    assert_int_equal(run->period_ns, 5);
    assert_int_equal(run->event_count, 2);
    assert_bytes(run->events[0], "page-faults");
    assert_bytes(run->events[1], "cycles");
    assert_int_equal(run->start_ns, AT(0));
    assert_int_equal(run->end_ns, AT(9));
    assert_true(run->ended && run->status_known);
    assert_int_equal(run->exit_signal, SIGTERM);
    assert_int_equal(counters_cpu_us(&run->total), 7);
    assert_int_equal(run->gaps.records_lost, 1);
    assert_int_equal(run->gaps.events_lost, 2);
    assert_int_equal(run->gaps.ticks_late, 3);
    assert_int_equal(run->gaps.bytes_damaged, 0);
}

/* sonde run prepares much before that: loading BPF programs takes longer than many commands. */
static void run_starts_with_its_command(void **state)
{
    struct fixture *f = *state;
    spool_add(&f->spool, spawn, .pid = 11, .ppid = 10, .time_ns = AT(260));
    spool_add(&f->spool, spawn, .pid = 10, .ppid = MAKER_RUN_PID, .time_ns = AT(250));
    spool_add(&f->spool, spawn, .pid = 12, .ppid = MAKER_RUN_PID, .time_ns = AT(270));
    assert_int_equal(merge(f)->start_ns, AT(250));
}

/* kill -9 of sonde run: everything recorded until then is there. */
static void killed_run(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(&f->spool, 11, 10, 10);
    spool_end(&f->spool, 11, 12, 900, 0);
    spool_wait(&f->spool, 10, 11, 13, 0, 1000);
    spool_add(&f->spool, alive, .pid = 10, .time_ns = AT(20), .self = usage_us(5, 0));
    const struct run *run = merge(f);
    assert_false(run->ended);
    assert_false(run->status_known);
    assert_int_equal(run->end_ns, AT(20));
    assert_int_equal(run_process(run, 10, 0)->state, PROCESS_LOST);
    assert_int_equal(run_process(run, 11, 0)->state, PROCESS_ENDED);
    assert_int_equal(run->total.known, 0);
}

/* The run was monitored after the command exited: the first total is kept, the last end counts. */
static void two_run_end_records(void **state)
{
    struct fixture *f = *state;
    spool_run_end(&f->spool, 10, 500);
    spool_add(&f->spool, run_end, .time_ns = AT(90), .status_known = 1);
    const struct run *run = merge(f);
    assert_int_equal(run->end_ns, AT(90));
    assert_int_equal(counters_cpu_us(&run->total), 500);
}

/* The kernel's total lacks what a daemon used after the command's end. */
static void daemon_outlives_the_command(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(&f->spool, 11, 10, 2);
    spool_end(&f->spool, 10, 9, 400, 0);
    spool_wait(&f->spool, MAKER_RUN_PID, 10, 9.5, 0, 500);
    spool_run_end(&f->spool, 10, 500);
    spool_end(&f->spool, 11, 80, 7000, 0);
    spool_add(&f->spool, run_end, .time_ns = AT(90), .status_known = 1);
    const struct run *run = merge(f);
    assert_int_equal(counters_cpu_us(&run->total), 7500);
}

/* It also lacks children of a program that ignores SIGCHLD: nobody waits for them. */
static void child_without_wait(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/daemon");
    spool_fork(&f->spool, 11, 10, 2);
    spool_end(&f->spool, 11, 8, 7000, 0);
    spool_end(&f->spool, 10, 9, 400, 0);
    spool_wait(&f->spool, MAKER_RUN_PID, 10, 9.5, 0, 500);
    spool_run_end(&f->spool, 10, 500);
    assert_int_equal(counters_cpu_us(&merge(f)->total), 7500);
}

static struct counters with_rss(uint64_t cpu_us, uint64_t rss_kb)
{
    struct counters counters = usage_us(cpu_us, 0);
    counters_set(&counters, COUNTER_rssmax, rss_kb);
    return counters;
}

/* The kernel's peak includes the copy of sonde run before its exec; a process with unknown memory may have reached it
 * too. */
static void peak_memory_is_that_of_a_process(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/true");
    spool_add(&f->spool, taskstats, .pid = 10, .tid = 10, .start_ns = AT(1), .end_ns = AT(9), .process_ended = 1,
              .counters = with_rss(400, 1000));
    spool_add(&f->spool, run_end, .time_ns = AT(10), .status_known = 1, .total = with_rss(400, 1900));
    const struct run *run = merge(f);
    assert_int_equal(counters_get(&run->processes[0].counters, COUNTER_rssmax), 1000);
    assert_int_equal(counters_get(&run->total, COUNTER_rssmax), 1000);
}

static void unknown_memory_keeps_the_kernel_peak(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(&f->spool, 11, 10, 2);
    spool_add(&f->spool, taskstats, .pid = 10, .tid = 10, .start_ns = AT(1), .end_ns = AT(9), .process_ended = 1,
              .counters = with_rss(400, 1000));
    spool_add(&f->spool, run_end, .time_ns = AT(10), .status_known = 1, .total = with_rss(400, 1900));
    assert_int_equal(counters_get(&merge(f)->total, COUNTER_rssmax), 1900);
}

static void no_run_record(void **state)
{
    struct fixture *f = *state;
    spool_maker_clear(&f->spool);
    spool_maker_init_empty(&f->spool);
    spool_fork(&f->spool, 11, 10, 10);
    struct bytes spool = { f->spool.buf.data, f->spool.buf.size };
    assert_int_equal(merge_bytes(&f->merged, spool), CORRUPT);
    assert_int_equal(merge_bytes(&f->merged, (struct bytes){ 0 }), CORRUPT);
    assert_int_equal(merge_bytes(&f->merged, (struct bytes){ "nonsense", 8 }), CORRUPT);
}

/* A torn write costs its record and is counted. */
static void damage_is_counted(void **state)
{
    struct fixture *f = *state;
    spool_fork(&f->spool, 11, 10, 10);
    size_t from = f->spool.buf.size;
    spool_fork(&f->spool, 12, 10, 20);
    size_t until = f->spool.buf.size;
    spool_fork(&f->spool, 13, 10, 30);
    f->spool.buf.data[from + FRAME_HEAD] ^= 1;
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11) + run_count(run, 13), 2);
    assert_int_equal(run_count(run, 12), 0);
    assert_int_equal(run->gaps.bytes_damaged, until - from);
}

/* Complete frames that contain no valid record: no pid, a pid beyond 32 bits, a body that ends within a number. */
static void invalid_record_bodies(void **state)
{
    struct fixture *f = *state;
    spool_add(&f->spool, fork, .pid = 0, .ppid = 10, .time_ns = AT(1));
    spool_add(&f->spool, fork, .pid = 1ull << 40, .ppid = 10, .time_ns = AT(1));
    uint8_t frame[64] = { [FRAME_HEAD] = 0xff };
    buf_add(&f->spool.buf, frame, frame_finish(frame, RECORD_KIND_wait, 1));
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 0);
    assert_true(run->gaps.bytes_damaged > 0);
}

/* A newer version may write unknown record kinds: no damage. */
static void unknown_record_kind(void **state)
{
    struct fixture *f = *state;
    uint8_t frame[64] = { 0 };
    buf_add(&f->spool.buf, frame, frame_finish(frame, (enum record_kind)200, 20));
    assert_int_equal(merge(f)->gaps.bytes_damaged, 0);
}

/* From a file, with more records than are kept mapped at a time. */
static void large_spool_from_a_file(void **state)
{
    struct fixture *f = *state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(path, dir, "x.spool");
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/sh");
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t pid = 1000 + i % 7000; /* pids wrap around */
        spool_fork(&f->spool, pid, 10, 10 + i);
        spool_exec(&f->spool, pid, 10.2 + i, "/bin/true", 50);
        spool_image(&f->spool, pid, 10, 10.3 + i, "/bin/true");
        spool_end(&f->spool, pid, 10.5 + i, 80, 0);
        spool_wait(&f->spool, 10, pid, 10.7 + i, 0, 100);
    }
    spool_end(&f->spool, 10, 30000, 777, 2000000);
    spool_wait(&f->spool, MAKER_RUN_PID, 10, 30001, 0, 2001000);
    spool_run_end(&f->spool, 30002, 2001000);
    temp_write(path, f->spool.buf.data, f->spool.buf.size);
    assert_int_equal(merge_spool(&f->merged, path), OK);
    const struct run *run = &f->merged.run;
    assert_int_equal(run->process_count, 20001);
    assert_int_equal(run->processes[0].inclusive_cpu_us, 2001000);
    assert_int_equal(run->processes[0].last, 20000);
    for (size_t i = 1; i < run->process_count; i++)
        assert_int_equal(counters_cpu_us(&run->processes[i].counters), 100);
    assert_bytes(run->processes[20000].args, "/bin/true\0");
    temp_remove(dir);
    merge_clear(&f->merged);
    assert_int_equal(merge_spool(&f->merged, path), ABSENT);
}

/* Arguments may contain any bytes, and many of them. */
static void long_binary_arguments(void **state)
{
    struct fixture *f = *state;
    static char args[100000];
    for (size_t i = 0; i < sizeof args; i++)
        args[i] = (char)(i * 7);
    spool_add(&f->spool, image, .pid = 11, .ppid = MAKER_RUN_PID, .time_ns = AT(1), .path = PATH("/a\n\xff"),
              .args = { args, sizeof args });
    const struct process *p = run_process(merge(f), 11, 0);
    assert_int_equal(p->args.size, sizeof args);
    assert_memory_equal(p->args.data, args, sizeof args);
    assert_bytes(p->name, "a\n\xff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(run_attributes), T(run_starts_with_its_command), T(killed_run), T(two_run_end_records),
        T(daemon_outlives_the_command), T(child_without_wait), T(no_run_record), T(damage_is_counted),
        T(peak_memory_is_that_of_a_process), T(unknown_memory_keeps_the_kernel_peak),
        T(invalid_record_bodies), T(unknown_record_kind), T(large_spool_from_a_file),
        T(long_binary_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
