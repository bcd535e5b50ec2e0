/* Bookkeeping of tasks with hand-made events: all the awkward ways in which a task can come and go. */
#include "proc/task_totals.h"

#include "tools/unit.h"

/* Counts allocations, unless a sanitizer replaces malloc. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1
static volatile unsigned allocations;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
void *malloc(size_t size) { allocations++; return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { allocations++; return __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { allocations++; return __libc_realloc(memory, size); }
#endif

#define CPU TASKSTATS_cpu_run_virtual_total
#define PEAK TASKSTATS_hiwater_rss

static struct task_totals totals;
static uint32_t alive_tid;
static uint64_t clock_offset_s, clock_s; /* clock_s: by how much the realtime clock was set */

static bool is_alive(uint32_t tid) { return tid == alive_tid; }
static bool is_exiting(uint32_t tid) { (void)tid; return false; }

static struct taskstats_usage use_of(uint32_t tid, uint32_t pid, uint32_t ppid, uint64_t cpu)
{
    struct taskstats_usage usage = { .tid = tid, .pid = pid, .ppid = ppid, .begin_s = 1000 + clock_s,
                                 .known = 1ull << CPU | 1ull << PEAK };
    usage.value[CPU] = cpu;
    usage.value[PEAK] = tid;
    return usage;
}

static void add_live(uint32_t slot, uint32_t tid, uint32_t pid, uint64_t cpu)
{
    struct taskstats_usage usage = use_of(tid, pid, 1, cpu);
    assert_int_equal(task_totals_add_live(&totals, slot, &usage), OK);
}

static void ended(uint32_t tid, uint32_t pid, uint32_t ppid, uint64_t cpu, bool process_ended)
{
    struct taskstats_usage usage = use_of(tid, pid, ppid, cpu);
    usage.process_ended = process_ended;
    assert_int_equal(task_totals_add_exit(&totals, &usage), OK);
}

static void begin_round(void)
{
    task_totals_begin(&totals, clock_offset_s);
    task_totals_begin_job(&totals, 1);
}

static void end_round(void)
{
    assert_int_equal(task_totals_end(&totals, true), OK);
}

static uint64_t cpu_of(uint32_t slot)
{
    struct taskstats_usage total;
    task_totals_get(&totals, slot, &total);
    return total.value[CPU];
}

static int begin(void **state)
{
    (void)state;
    totals = (struct task_totals){ .is_alive = is_alive, .is_exiting = is_exiting };
    alive_tid = 0;
    clock_s = 0;
    clock_offset_s = 500;
    assert_int_equal(task_totals_job_begin(&totals, 1), OK);
    begin_round();
    add_live(1, 10, 10, 100);
    end_round();
    assert_int_equal(cpu_of(1), 100);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    task_totals_clear(&totals);
    return 0;
}

/* A round in which process 10 is listed with this CPU time. */
static void round_of(uint64_t cpu)
{
    begin_round();
    add_live(1, 10, 10, cpu);
    end_round();
}

static void an_exit_record_replaces_the_last_query(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 130, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 130);
    assert_int_equal(totals.jobs[1].ended_count, 1);
    assert_int_equal(totals.jobs[1].latest_count, 0);
    for (int i = 0; i < 3; i++) {
        begin_round();
        end_round();
        assert_int_equal(cpu_of(1), 130);
    }
}

static void a_task_between_two_rounds_is_found_by_its_parent(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    ended(20, 20, 10, 5, true);
    ended(31, 30, 10, 7, false); /* a thread of an unknown process */
    ended(40, 40, 30, 11, true); /* its child: its record precedes that of its parent */
    ended(30, 30, 10, 13, true);
    ended(50, 50, 2, 1000, true); /* of another job */
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 100);
    end_round();
    assert_int_equal(cpu_of(1), 100 + 5 + 7 + 11 + 13);
    assert_int_equal(totals.jobs[1].ended_count, 4);
}

static void a_child_whose_parent_is_listed_later_is_found(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    ended(21, 21, 20, 5, true); /* 20 is new in this round and alive */
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 100);
    add_live(1, 20, 20, 3);
    end_round();
    assert_int_equal(cpu_of(1), 108);
}

static void an_orphan_is_found_by_its_fork_event(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    ended(22, 22, 1, 5, true); /* reparented to init */
    ended(21, 21, 10, 1, true);
    assert_int_equal(task_totals_add_fork(&totals, 21, 10), OK);
    assert_int_equal(task_totals_add_fork(&totals, 22, 21), OK);
    assert_int_equal(task_totals_add_fork(&totals, 99, 98), OK);
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 100);
    end_round();
    assert_int_equal(cpu_of(1), 106);
}

static void a_cycle_of_parents_is_harmless(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    ended(22, 22, 23, 5, true);
    ended(23, 23, 22, 5, true);
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 100);
    end_round();
    assert_int_equal(cpu_of(1), 100);
}

/* It stays in its cgroup for seconds while it frees its memory. */
static void a_slowly_exiting_process_is_counted_once(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 130, true);
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 131);
    end_round();
    assert_int_equal(cpu_of(1), 130);
    for (int i = 0; i < 5; i++) {
        round_of(131);
        assert_int_equal(cpu_of(1), 130);
    }
}

/* Its record came, then it was preempted before it left its cgroup. */
static void a_slowly_exiting_thread_is_counted_once(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        begin_round();
        if (i == 1)
            ended(11, 10, 1, 40, false);
        add_live(1, 10, 10, 100);
        add_live(1, 11, 10, 40);
        end_round();
        assert_int_equal(cpu_of(1), 140);
    }
}

static void a_reused_pid_is_another_task(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 130, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    struct taskstats_usage other = use_of(10, 10, 1, 7);
    other.begin_s = 1010 + clock_s;
    begin_round();
    assert_int_equal(task_totals_add_live(&totals, 1, &other), OK);
    end_round();
    assert_int_equal(cpu_of(1), 137);
}

static void a_reused_pid_without_a_record_is_another_task(void **state)
{
    (void)state;
    struct taskstats_usage other = use_of(10, 10, 1, 7);
    other.begin_s = 1010 + clock_s;
    begin_round();
    assert_int_equal(task_totals_add_live(&totals, 1, &other), OK);
    end_round();
    assert_int_equal(cpu_of(1), 107);
}

static void a_lost_record_loses_only_the_last_interval(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        begin_round();
        end_round();
        assert_int_equal(cpu_of(1), 100);
    }
    assert_int_equal(totals.count, 0);
}

/* A record that comes one round after the task disappeared. */
static void a_late_record_is_accepted(void **state)
{
    (void)state;
    begin_round();
    end_round();
    assert_int_equal(cpu_of(1), 100);
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 140, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 140);
}

static void a_task_that_leaves_the_job_keeps_its_usage_there(void **state)
{
    (void)state;
    alive_tid = 10;
    for (int i = 0; i < 4; i++) {
        begin_round();
        end_round();
        assert_int_equal(cpu_of(1), 100);
    }
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 5000, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 100);
}

static void a_task_that_returns_continues_counting(void **state)
{
    (void)state;
    alive_tid = 10;
    for (int i = 0; i < 3; i++) {
        begin_round();
        end_round();
    }
    assert_int_equal(cpu_of(1), 100);
    round_of(170);
    assert_int_equal(cpu_of(1), 170);
    assert_int_equal(totals.jobs[1].ended_count, 0);
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 180, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 180);
    assert_int_equal(totals.jobs[1].ended_count, 1);
}

/* Thread 11 of process 10 calls exec: 10 exits, and 11 continues as 10. */
static void a_thread_that_calls_exec_is_counted_once(void **state)
{
    (void)state;
    begin_round();
    add_live(1, 10, 10, 100);
    add_live(1, 11, 10, 500);
    end_round();
    assert_int_equal(cpu_of(1), 600);
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 110, false);
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 510); /* not decided yet whose tid it is */
    end_round();
    assert_int_equal(cpu_of(1), 110 + 500);
    round_of(520);
    assert_int_equal(cpu_of(1), 110 + 520);
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 530, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 110 + 530);
    begin_round();
    end_round();
    assert_int_equal(cpu_of(1), 110 + 530);
}

static void exec_and_exit_in_one_round_are_counted_once(void **state)
{
    (void)state;
    begin_round();
    add_live(1, 10, 10, 100);
    add_live(1, 11, 10, 500);
    end_round();
    task_totals_begin(&totals, clock_offset_s);
    ended(10, 10, 1, 110, false);
    ended(10, 10, 1, 530, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 110 + 530);
}

static void a_nested_job_counts_for_both(void **state)
{
    (void)state;
    assert_int_equal(task_totals_job_begin(&totals, 7), OK);
    begin_round();
    task_totals_begin_job(&totals, 7);
    add_live(1, 10, 10, 100);
    add_live(1, 20, 20, 50);
    add_live(7, 20, 20, 50);
    end_round();
    assert_int_equal(cpu_of(1), 150);
    assert_int_equal(cpu_of(7), 50);
    task_totals_begin(&totals, clock_offset_s);
    ended(21, 21, 20, 5, true);
    ended(20, 20, 10, 60, true);
    task_totals_begin_job(&totals, 1);
    task_totals_begin_job(&totals, 7);
    add_live(1, 10, 10, 100);
    end_round();
    assert_int_equal(cpu_of(1), 165);
    assert_int_equal(cpu_of(7), 65);
}

static void a_reused_slot_starts_at_zero(void **state)
{
    (void)state;
    task_totals_job_end(&totals, 1);
    assert_int_equal(task_totals_job_begin(&totals, 1), OK);
    task_totals_begin(&totals, clock_offset_s);
    ended(20, 20, 10, 5, true); /* of the old job */
    ended(10, 10, 1, 100, true);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 0);
}

static void updating_one_job_does_not_affect_others(void **state)
{
    (void)state;
    assert_int_equal(task_totals_job_begin(&totals, 2), OK);
    task_totals_begin(&totals, clock_offset_s);
    ended(20, 20, 10, 5, true);
    task_totals_begin_job(&totals, 2);
    assert_int_equal(task_totals_end(&totals, false), OK);
    assert_int_equal(cpu_of(1), 105);
    round_of(110);
    assert_int_equal(cpu_of(1), 115);
}

/* Its record uses the old clock. */
static void ended_before_the_clock_was_set(void)
{
    struct taskstats_usage usage = use_of(10, 10, 1, 140);
    usage.process_ended = true;
    clock_offset_s += 3600;
    task_totals_begin(&totals, clock_offset_s);
    assert_int_equal(task_totals_add_exit(&totals, &usage), OK);
    task_totals_begin_job(&totals, 1);
    end_round();
    assert_int_equal(cpu_of(1), 140);
}

static void set_clock(uint64_t by_s)
{
    clock_s += by_s;
    clock_offset_s += by_s;
}

static void the_clock_may_be_set(void **state)
{
    (void)state;
    set_clock((uint64_t)-3600);
    round_of(110);
    assert_int_equal(cpu_of(1), 110);
    round_of(120);
    set_clock(86400);
    round_of(130);
    assert_int_equal(cpu_of(1), 130);
    assert_int_equal(totals.jobs[1].ended_count, 0);
    ended_before_the_clock_was_set();
}

static void peaks_are_of_one_task(void **state)
{
    (void)state;
    struct taskstats_usage total;
    task_totals_begin(&totals, clock_offset_s);
    ended(30, 30, 10, 5, true);
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 100);
    add_live(1, 20, 20, 100);
    end_round();
    task_totals_get(&totals, 1, &total);
    assert_int_equal(total.value[PEAK], 30);
    assert_false(total.known >> TASKSTATS_ac_minflt & 1);
}

static void pending_records_are_bounded(void **state)
{
    (void)state;
    task_totals_begin(&totals, clock_offset_s);
    for (uint32_t i = 0; i < 20000; i++)
        ended(100000 + i, 100000 + i, 2, 1, true);
    task_totals_begin_job(&totals, 1);
    add_live(1, 10, 10, 100);
    end_round();
    assert_int_equal(cpu_of(1), 100);
    assert_true(totals.dropped > 0 && totals.dropped < 20000);
}

/* One task comes and goes in each round, as over the life of an agent. */
static void a_hundred_thousand_rounds_allocate_nothing(void **state)
{
    (void)state;
    uint64_t cpu = 100;
#ifdef COUNTS_ALLOCATIONS
    unsigned before = 0;
#endif
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t short_one = 1000 + i % 30000, long_one = 40000 + i / 10;
        task_totals_begin(&totals, clock_offset_s);
        ended(short_one, short_one, 10, 1, true);
        if (i % 10 == 0 && i)
            ended(long_one - 1, long_one - 1, 1, 10, true);
        task_totals_begin_job(&totals, 1);
        add_live(1, 10, 10, ++cpu);
        add_live(1, long_one, long_one, i % 10 + 1);
        end_round();
#ifdef COUNTS_ALLOCATIONS
        if (i == 100)
            before = allocations;
#endif
    }
    assert_int_equal(cpu_of(1), cpu + 100000 + 99990 + 10);
#ifdef COUNTS_ALLOCATIONS
    assert_int_equal(allocations, before);
#endif
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_exit_record_replaces_the_last_query),
        TEST(a_task_between_two_rounds_is_found_by_its_parent),
        TEST(a_child_whose_parent_is_listed_later_is_found),
        TEST(an_orphan_is_found_by_its_fork_event),
        TEST(a_cycle_of_parents_is_harmless),
        TEST(a_slowly_exiting_process_is_counted_once),
        TEST(a_slowly_exiting_thread_is_counted_once),
        TEST(a_reused_pid_is_another_task),
        TEST(a_reused_pid_without_a_record_is_another_task),
        TEST(a_lost_record_loses_only_the_last_interval),
        TEST(a_late_record_is_accepted),
        TEST(a_task_that_leaves_the_job_keeps_its_usage_there),
        TEST(a_task_that_returns_continues_counting),
        TEST(a_thread_that_calls_exec_is_counted_once),
        TEST(exec_and_exit_in_one_round_are_counted_once),
        TEST(a_nested_job_counts_for_both),
        TEST(a_reused_slot_starts_at_zero),
        TEST(updating_one_job_does_not_affect_others),
        TEST(the_clock_may_be_set),
        TEST(peaks_are_of_one_task),
        TEST(pending_records_are_bounded),
        TEST(a_hundred_thousand_rounds_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
