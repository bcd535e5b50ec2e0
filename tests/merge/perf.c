/* Perf counts: corrected for multiplexing, assigned to threads, summed for processes. */
#include "merge/perf.h"

#include "tools/merge_fixture.h"
#include "spool/probe_env.h"

struct count {
    uint64_t known, value, enabled_ns, running_ns;
};

static void add_perf_since(struct spool_maker *s, uint32_t pid, uint32_t tid, double opened_ms, double ms,
                           struct count first,
                           struct count second, enum probe_perf_since since)
{
    uint8_t text[128];
    struct packer p = { text, text + sizeof text, false };
    const struct count counts[] = { first, second };
    for (int i = 0; i < 2; i++) {
        pack_number(&p, counts[i].known);
        pack_number(&p, counts[i].value);
        pack_number(&p, counts[i].enabled_ns);
        pack_number(&p, counts[i].running_ns);
    }
    spool_add(s, perf, .pid = pid, .tid = tid, .time_ns = AT(ms), .opened_ns = AT(opened_ms),
              .counts = { (char *)text, (size_t)(p.at - text) }, .since = since);
}

static void add_perf(struct spool_maker *s, uint32_t pid, uint32_t tid, double opened_ms, double ms, struct count first,
                     struct count second)
{
    add_perf_since(s, pid, tid, opened_ms, ms, first, second, PROBE_PERF_BIRTH);
}

/* exec_ms: the time of the exec record. */
static void add_perf_on_exec(struct spool_maker *s, uint32_t pid, double exec_ms, double ms, struct count first)
{
    add_perf_since(s, pid, pid, exec_ms, ms, first, (struct count){ 0, 0, 0, 0 }, PROBE_PERF_EXEC);
}

static int set_up_events(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    spool_maker_init_empty(&f->spool);
    spool_add(&f->spool, run, .run_id = PATH("r"), .time_ns = AT(0), .pid = MAKER_RUN_PID,
              .events = TEXT("faults\0cycles"));
    *state = f;
    return 0;
}

static void multiplexing_is_corrected(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    add_perf(&f->spool, 10, 10, 2, 20, (struct count){ 1, 100, 1000, 1000 }, (struct count){ 1, 100, 1000, 250 });
    const struct run *run = merge(f);
    const struct process *p = run_process(run, 10, 0);
    assert_int_equal(run->counts[p->events].known, 3);
    assert_int_equal(run->counts[p->events].value[0], 100);
    assert_int_equal(run->counts[p->events].value[1], 400);
}

/* Requested but never scheduled on the hardware: unknown, not 0. */
static void event_that_never_ran(void **state)
{
    struct fixture *f = *state;
    add_perf(&f->spool, 10, 10, 2, 20, (struct count){ 1, 0, 1000, 0 }, (struct count){ 0, 0, 0, 0 });
    add_perf(&f->spool, 11, 11, 2, 20, (struct count){ 1, 0, 0, 0 }, (struct count){ 0, 0, 0, 0 });
    const struct run *run = merge(f);
    assert_int_equal(run->counts[run_process(run, 10, 0)->events].known, 0);
    assert_int_equal(run->counts[run_process(run, 11, 0)->events].known, 1); /* it was never enabled: 0 is correct */
}

static void threads_have_their_own_counts(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    for (uint32_t tid = 10; tid < 13; tid++)
        add_perf(&f->spool, 10, tid, 2, 20, (struct count){ 1, tid, 10, 10 }, (struct count){ 0, 0, 0, 0 });
    const struct run *run = merge(f);
    const struct process *p = run_process(run, 10, 0);
    assert_int_equal(p->thread_count, 3);
    assert_int_equal(run->counts[p->events].value[0], 33);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(run->counts[run->threads[i].events].value[0], 10 + i);
    spool_image(&f->spool, 20, MAKER_RUN_PID, 1, "/bin/b");
    assert_int_equal(run_process(merge(f), 20, 0)->events, UINT32_MAX);
}

/* A sum is known if every thread has its part. */
static void sum_with_missing_part_is_unknown(void **state)
{
    struct fixture *f = *state;
    struct count none = { 0, 0, 0, 0 };
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a"); /* its second thread has no cycles */
    add_perf(&f->spool, 10, 10, 2, 20, (struct count){ 1, 5, 1, 1 }, (struct count){ 1, 50, 1, 1 });
    add_perf(&f->spool, 10, 11, 2, 20, (struct count){ 1, 6, 1, 1 }, none);
    spool_image(&f->spool, 20, MAKER_RUN_PID, 1, "/bin/b"); /* its second thread has no counts */
    add_perf(&f->spool, 20, 20, 2, 20, (struct count){ 1, 5, 1, 1 }, (struct count){ 1, 50, 1, 1 });
    spool_add(&f->spool, thread, .pid = 20, .tid = 21, .start_ns = AT(2), .end_ns = AT(3));
    spool_image(&f->spool, 30, MAKER_RUN_PID, 1, "/bin/c"); /* its main thread has no counts */
    add_perf(&f->spool, 30, 31, 2, 20, (struct count){ 1, 5, 1, 1 }, (struct count){ 1, 50, 1, 1 });
    spool_image(&f->spool, 40, MAKER_RUN_PID, 1, "/bin/d"); /* its second thread has no record at all */
    add_perf(&f->spool, 40, 40, 2, 20, (struct count){ 1, 5, 1, 1 }, (struct count){ 1, 50, 1, 1 });
    spool_add(&f->spool, end, .pid = 40, .time_ns = AT(20), .threads = 2);
    const struct run *run = merge(f);
    const struct process *p = run_process(run, 10, 0);
    assert_int_equal(run->counts[p->events].known, 1);
    assert_int_equal(run->counts[p->events].value[0], 11);
    assert_int_equal(run->counts[run->threads[p->thread_first].events].value[1], 50);
    for (uint32_t pid = 20; pid <= 40; pid += 10)
        assert_int_equal(run->counts[run_process(run, pid, 0)->events].known, 0);
    p = run_process(run, 20, 0);
    assert_int_equal(run->counts[run->threads[p->thread_first].events].known, 3);
}

/* Something ran uncounted: the counts are incomplete and must not be reported as complete. */
static void process_ran_longer_than_its_events(void **state)
{
    struct fixture *f = *state;
    const uint64_t ms = 1000000;
    for (uint32_t pid = 10; pid < 12; pid++) {
        spool_image(&f->spool, pid, MAKER_RUN_PID, 1, "/bin/a");
        uint64_t enabled_ns = pid == 10 ? 61 * ms : 10 * ms;
        add_perf(&f->spool, pid, pid, 2, 200, (struct count){ 1, 5, enabled_ns, enabled_ns }, (struct count){ 0, 0, 0, 0 });
        spool_end(&f->spool, pid, 200, 100000, 0);
    }
    const struct run *run = merge(f);
    assert_int_equal(run->counts[run_process(run, 10, 0)->events].known, 1);
    assert_int_equal(run->counts[run_process(run, 11, 0)->events].known, 0);
}

/* Read when the thread ended, but opened by the image that ran at the time. */
static void counts_belong_to_the_image_that_opened_them(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_exec(&f->spool, 10, 10, "/bin/b", 20000);
    spool_image(&f->spool, 10, MAKER_RUN_PID, 11, "/bin/b");
    add_perf(&f->spool, 10, 10, 2, 12, (struct count){ 1, 5, 1, 1 }, (struct count){ 0, 0, 0, 0 });
    add_perf(&f->spool, 10, 10, 12, 30, (struct count){ 1, 6, 1, 1 }, (struct count){ 0, 0, 0, 0 });
    const struct run *run = merge(f);
    assert_int_equal(run->counts[run_process(run, 10, 0)->events].value[0], 5);
    assert_int_equal(run->counts[run_process(run, 10, 1)->events].value[0], 6);
}

/* Opened before the exec, by the old image, for the new one. */
static void events_opened_before_an_exec(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_exec(&f->spool, 10, 10, "/bin/b", 20000);
    spool_image(&f->spool, 10, MAKER_RUN_PID, 12, "/bin/b");
    spool_exec(&f->spool, 10, 20, "/bin/c", 40000);
    spool_image(&f->spool, 10, MAKER_RUN_PID, 22, "/bin/c");
    add_perf(&f->spool, 10, 10, 2, 30, (struct count){ 1, 5, 1, 1 }, (struct count){ 0, 0, 0, 0 });
    add_perf_on_exec(&f->spool, 10, 10, 30, (struct count){ 1, 6, 1, 1 });
    add_perf_on_exec(&f->spool, 10, 20, 30, (struct count){ 1, 7, 1, 1 });
    const struct run *run = merge(f);
    for (uint32_t image = 0; image < 3; image++)
        assert_int_equal(run->counts[run_process(run, 10, image)->events].value[0], 5 + image);
}

/* Without what the exec and the loader did, unless other events were opened before. */
static void events_opened_after_an_exec(void **state)
{
    struct fixture *f = *state;
    struct count none = { 0, 0, 0, 0 };
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    add_perf_since(&f->spool, 10, 10, 2, 30, (struct count){ 1, 5, 1, 1 }, none, PROBE_PERF_IMAGE);
    spool_exec(&f->spool, 10, 10, "/bin/b", 20000);
    spool_image(&f->spool, 10, MAKER_RUN_PID, 12, "/bin/b");
    add_perf_on_exec(&f->spool, 10, 10, 30, (struct count){ 1, 6, 1, 1 });
    add_perf_since(&f->spool, 10, 10, 13, 30, (struct count){ 1, 7, 1, 1 }, none, PROBE_PERF_IMAGE);
    const struct run *run = merge(f);
    assert_true(run_process(run, 10, 0)->sources & EVENTS_LATE);
    assert_false(run_process(run, 10, 1)->sources & EVENTS_LATE);
    assert_int_equal(run->counts[run_process(run, 10, 1)->events].value[0], 13);
}

/* The previous image was gone when its counts arrived: nothing is lost, but they go to the next image. */
static void counts_that_arrive_late(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_exec(&f->spool, 10, 10, "/bin/b", 20000);
    spool_image(&f->spool, 10, MAKER_RUN_PID, 11, "/bin/b");
    add_perf(&f->spool, 10, 10, 12, 13, (struct count){ 1, 5, 1, 1 }, (struct count){ 0, 0, 0, 0 });
    add_perf(&f->spool, 10, 10, 13, 30, (struct count){ 1, 6, 1, 1 }, (struct count){ 0, 0, 0, 0 });
    const struct run *run = merge(f);
    assert_int_equal(run->counts[run_process(run, 10, 1)->events].value[0], 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define E(name) cmocka_unit_test_setup_teardown(name, set_up_events, tear_down)
        E(multiplexing_is_corrected), E(event_that_never_ran), E(threads_have_their_own_counts),
        E(sum_with_missing_part_is_unknown), E(process_ran_longer_than_its_events),
        E(counts_belong_to_the_image_that_opened_them),
        E(events_opened_before_an_exec), E(events_opened_after_an_exec),
        E(counts_that_arrive_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
