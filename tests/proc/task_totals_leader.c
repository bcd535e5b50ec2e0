/* Bookkeeping of tasks when the leader of a process exits before the other threads: it stays in the list until they
 * have exited too, and a thread that calls exec takes over its tid. */
#include "proc/task_totals.h"

#include "tools/unit.h"

#define CPU TASKSTATS_cpu_run_virtual_total
#define LEADER 10u
#define THREAD 11u
#define SLOT 1u

static struct task_totals totals;
static uint32_t exiting_tid;
static unsigned is_exiting_calls;

static bool is_alive(uint32_t tid)
{
    (void)tid;
    return false;
}

static bool is_exiting(uint32_t tid)
{
    is_exiting_calls++;
    return tid == exiting_tid;
}

static struct taskstats_usage use_of(uint32_t tid, uint64_t cpu)
{
    struct taskstats_usage usage = { .tid = tid, .pid = LEADER, .ppid = 1, .begin_s = 1000, .known = 1ull << CPU };
    usage.value[CPU] = cpu;
    return usage;
}

static void ended(uint32_t tid, uint64_t cpu, bool process_ended)
{
    struct taskstats_usage usage = use_of(tid, cpu);
    usage.process_ended = process_ended;
    assert_int_equal(task_totals_add_exit(&totals, &usage), OK);
}

/* cpu 0: not listed. */
static void begin_round(uint64_t leader_cpu, uint64_t thread_cpu)
{
    struct taskstats_usage leader = use_of(LEADER, leader_cpu), thread = use_of(THREAD, thread_cpu);
    task_totals_begin_job(&totals, SLOT);
    if (leader_cpu)
        assert_int_equal(task_totals_add_live(&totals, SLOT, &leader), OK);
    if (thread_cpu)
        assert_int_equal(task_totals_add_live(&totals, SLOT, &thread), OK);
    assert_int_equal(task_totals_end(&totals, true), OK);
}

static void round_of(uint64_t leader_cpu, uint64_t thread_cpu)
{
    task_totals_begin(&totals, 500);
    begin_round(leader_cpu, thread_cpu);
}

static uint64_t cpu_now(void)
{
    struct taskstats_usage total;
    task_totals_get(&totals, SLOT, &total);
    return total.value[CPU];
}

/* The leader exited at 100, its thread is at 50. */
static int begin(void **state)
{
    (void)state;
    totals = (struct task_totals){ .is_alive = is_alive, .is_exiting = is_exiting };
    exiting_tid = LEADER;
    is_exiting_calls = 0;
    assert_int_equal(task_totals_job_begin(&totals, SLOT), OK);
    round_of(90, 40);
    round_of(95, 45);
    task_totals_begin(&totals, 500);
    ended(LEADER, 100, false);
    begin_round(0, 50);
    assert_int_equal(cpu_now(), 150);
    assert_int_equal(is_exiting_calls, 0); /* each costs a system call */
    return 0;
}

static int finish(void **state)
{
    (void)state;
    task_totals_clear(&totals);
    return 0;
}

static void a_leader_that_waits_for_its_threads_is_counted_once(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        round_of(101, 50 + i);
        assert_int_equal(cpu_now(), 150 + i);
        assert_int_equal(totals.jobs[SLOT].latest_count, 1);
    }
    task_totals_begin(&totals, 500);
    ended(THREAD, 80, true);
    begin_round(101, 0); /* it disappears a moment later */
    assert_int_equal(cpu_now(), 180);
    for (int i = 0; i < 4; i++) {
        round_of(0, 0);
        assert_int_equal(cpu_now(), 180);
    }
    assert_int_equal(totals.jobs[SLOT].ended_count, 2);
    assert_int_equal(totals.jobs[SLOT].latest_count, 0);
}

static void exec_after_the_leader_was_listed_as_exited_is_counted_once(void **state)
{
    (void)state;
    round_of(101, 60);
    exiting_tid = 0; /* the thread has this tid now */
    round_of(70, 0);
    assert_int_equal(cpu_now(), 170);
    round_of(75, 0);
    assert_int_equal(cpu_now(), 175);
    assert_int_equal(totals.jobs[SLOT].ended_count, 1);
}

static void exec_after_the_leader_was_dropped_is_counted_once(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        round_of(0, 60);
    assert_int_equal(totals.ended_count, 0);
    exiting_tid = 0;
    for (uint64_t i = 0; i < 4; i++) {
        round_of(70 + i, 0);
        assert_int_equal(cpu_now(), 170 + i);
    }
    assert_int_equal(totals.jobs[SLOT].ended_count, 1);
    task_totals_begin(&totals, 500);
    ended(LEADER, 90, true);
    begin_round(0, 0);
    assert_int_equal(cpu_now(), 190);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_leader_that_waits_for_its_threads_is_counted_once),
        TEST(exec_after_the_leader_was_listed_as_exited_is_counted_once),
        TEST(exec_after_the_leader_was_dropped_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
