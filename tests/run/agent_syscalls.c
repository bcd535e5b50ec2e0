/* Counts of successive agents are added up, and the gaps between them recorded. */
#include "run/agent_syscalls.h"

#include "model/program_sets.h"
#include "tools/unit.h"

#include <string.h>

static struct agent_syscalls calls;
static struct agent_answer answer;
static struct batch out;

static int start(void **state)
{
    (void)state;
    agent_syscalls_begin(&calls);
    calls.last_ns = 1000;
    answer.since_ns = 0;
    batch_init(&answer.counts);
    batch_init(&out);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    agent_syscalls_close(&calls);
    batch_clear(&answer.counts);
    batch_clear(&out);
    return 0;
}

static void says(const char *call, uint64_t count)
{
    struct sample *sample = batch_add(&answer.counts, &syscall_set, 0, call);
    assert_non_null(sample);
    sample_set_u64(sample, SYSCALL_CALLS, count);
    sample_set_u64(sample, SYSCALL_ERRORS, 0);
}

static void take(uint64_t time_ns)
{
    batch_reset(&out);
    answer.time_ns = time_ns;
    assert_int_equal(agent_syscalls_add(&calls, &answer, &out), OK);
    batch_reset(&answer.counts);
}

/* UINT64_MAX: none. */
static uint64_t counted(const char *call)
{
    for (size_t i = 0; i < out.count; i++)
        if (out.samples[i].set == &syscall_set && !strcmp(out.samples[i].instance, call)) {
            assert_int_equal(out.samples[i].known[SYSCALL_TIME], 0); /* not measured */
            return out.samples[i].values[SYSCALL_CALLS].u64;
        }
    return UINT64_MAX;
}

static void assert_way(size_t at, uint64_t time_ns, enum syscall_way way)
{
    assert_true(out.count > at && out.samples[at].set == &syscall_way_set);
    assert_int_equal(out.samples[at].time_ns, time_ns);
    assert_int_equal(out.samples[at].values[0].u64, way);
}

static void counts_of_one_agent_are_used(void **state)
{
    (void)state;
    says("read", 3);
    take(2000);
    assert_int_equal(counted("read"), 3);
    says("read", 5);
    says("write", 1);
    take(3000);
    assert_int_equal(counted("read"), 5);
    assert_int_equal(counted("write"), 1);
    assert_int_equal(out.count, 2); /* and no gap */
}

static void counts_of_a_second_agent_are_added(void **state)
{
    (void)state;
    says("read", 100);
    says("close", 2);
    take(2000);
    calls.is_restarted = true; /* it was notified of the run again: higher counts do not prove that it is the same agent */
    calls.restarted_ns = 5000;
    says("read", 150);
    says("write", 7);
    take(6000);
    assert_way(0, 2000, SYSCALL_WAY_NONE);
    assert_way(1, 5000, SYSCALL_WAY_KERNEL);
    assert_int_equal(counted("read"), 250);
    assert_int_equal(counted("write"), 7);
    assert_int_equal(counted("close"), 2);
    says("read", 151);
    says("write", 7);
    take(7000);
    assert_int_equal(counted("read"), 251); /* the same agent: no duplicates, no other gap */
    assert_int_equal(counted("close"), 2);
    assert_int_equal(out.samples[0].set == &syscall_set, 1);
}

static void decreasing_counts_mean_another_agent(void **state)
{
    (void)state;
    says("read", 100);
    take(2000);
    says("read", 10);
    take(4000);
    assert_way(0, 2000, SYSCALL_WAY_NONE);
    assert_way(1, 4000, SYSCALL_WAY_KERNEL);
    assert_int_equal(counted("read"), 110);
    says("read", 3);
    take(5000);
    assert_int_equal(counted("read"), 113);
}

/* It knew the run from its state file, was not notified again, and had a higher count than the previous one at the
 * first request. */
static void another_start_time_means_another_agent(void **state)
{
    (void)state;
    answer.since_ns = 900;
    says("read", 100);
    take(2000);
    assert_int_equal(out.count, 1);
    answer.since_ns = 2500;
    says("read", 5000);
    take(3000);
    assert_way(0, 2000, SYSCALL_WAY_NONE);
    assert_way(1, 2500, SYSCALL_WAY_KERNEL);
    assert_int_equal(counted("read"), 5100);
    calls.is_restarted = true; /* it did not respond for a while, and was notified again */
    says("read", 5001);
    take(4000);
    assert_int_equal(counted("read"), 5101);
    assert_int_equal(out.count, 1);
}

static void an_agent_started_after_the_run_leaves_a_gap(void **state)
{
    (void)state;
    answer.since_ns = 1500;
    says("read", 5);
    take(2000);
    assert_way(0, 1000, SYSCALL_WAY_NONE);
    assert_way(1, 1500, SYSCALL_WAY_KERNEL);
    assert_int_equal(counted("read"), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_of_one_agent_are_used, start, stop),
        cmocka_unit_test_setup_teardown(counts_of_a_second_agent_are_added, start, stop),
        cmocka_unit_test_setup_teardown(decreasing_counts_mean_another_agent, start, stop),
        cmocka_unit_test_setup_teardown(another_start_time_means_another_agent, start, stop),
        cmocka_unit_test_setup_teardown(an_agent_started_after_the_run_leaves_a_gap, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
