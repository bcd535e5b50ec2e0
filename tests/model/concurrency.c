/* Peaks and the time of short processes, on small trees counted by hand, and on random trees compared with a slow and simple
 * computation. */
#include "model/concurrency.h"

#include "base/clock.h"
#include "tools/unit.h"

#define MS(n) ((n) * NS_PER_MS)
#define BEGIN_NS 1000000000ull
#define NONE PROCESS_NO_PARENT

static struct process life(uint32_t parent, uint64_t start_ms, uint64_t end_ms)
{
    return (struct process){ .parent = parent, .start_ns = BEGIN_NS + MS(start_ms), .end_ns = BEGIN_NS + MS(end_ms) };
}

static struct summary sweep(struct process *processes, size_t count)
{
    struct summary summary = { 0 };
    struct run run = { .processes = processes, .process_count = count };
    concurrency_of_run(&summary, &run);
    return summary;
}

static void a_shell_that_waits_for_short_processes_does_not_count(void **state)
{
    (void)state;
    struct process tree[] = { life(NONE, 0, 100), life(0, 10, 15), life(0, 20, 26), life(0, 24, 30) };
    struct summary summary = sweep(tree, 4);
    assert_int_equal(summary.short_wall_ns, MS(15)); /* 10-15 and 20-30 */
    assert_int_equal(summary.live_peak, 3);
    assert_int_equal(summary.threads_peak, 3);
}

static void a_concurrent_long_process_counts(void **state)
{
    (void)state;
    struct process tree[] = { life(NONE, 0, 100), life(0, 12, 60), life(0, 10, 15), life(0, 70, 75) };
    struct summary summary = sweep(tree, 4);
    assert_int_equal(summary.short_wall_ns, MS(7)); /* 10-12 and 70-75 */
    assert_int_equal(summary.live_peak, 3);
}

static void every_long_process_must_be_an_ancestor(void **state)
{
    (void)state;
    /* make, two shells below it, a short one below each. */
    struct process tree[] = { life(NONE, 0, 100), life(0, 10, 50), life(1, 20, 25), life(0, 10, 60), life(3, 22, 29) };
    struct summary summary = sweep(tree, 5);
    assert_int_equal(summary.short_wall_ns, MS(3)); /* 22-25: both shells wait for one */
    assert_int_equal(summary.live_peak, 5);
}

static void a_short_process_in_between_is_skipped(void **state)
{
    (void)state;
    struct process tree[] = { life(NONE, 0, 100), life(0, 10, 14), life(1, 11, 18) };
    assert_int_equal(sweep(tree, 3).short_wall_ns, MS(8));
}

static void an_ancestor_that_has_ended_does_not_count(void **state)
{
    (void)state;
    struct process tree[] = { life(NONE, 0, 100), life(0, 5, 20), life(1, 30, 35) };
    assert_int_equal(sweep(tree, 3).short_wall_ns, MS(5));
}

static void an_exec_is_not_a_second_process(void **state)
{
    (void)state;
    struct process tree[] = { life(NONE, 0, 100), life(0, 10, 40), life(0, 40, 90) };
    assert_int_equal(sweep(tree, 3).live_peak, 2);
}

static void a_process_of_zero_duration_counts(void **state)
{
    (void)state;
    struct process tree[] = { life(NONE, 0, 100), life(0, 10, 10) };
    assert_int_equal(sweep(tree, 2).live_peak, 2);
}

static void unknown_times_are_ignored(void **state)
{
    (void)state;
    struct process tree[] = { { .parent = NONE }, life(0, 10, 15), { .parent = 0, .start_ns = 5 },
                              { .parent = 0, .end_ns = 7 } };
    struct summary summary = sweep(tree, 4);
    assert_int_equal(summary.live_peak, 1);
    assert_int_equal(summary.short_wall_ns, MS(5));
}

static void threads_are_counted_with_the_main_thread(void **state)
{
    (void)state;
    struct process process = life(NONE, 0, 100);
    process.pid = 7;
    process.thread_count = 3;
    struct thread threads[] = {
        { .tid = 7, .start_ns = process.start_ns, .end_ns = process.end_ns },
        { .tid = 8, .start_ns = BEGIN_NS + MS(10), .end_ns = BEGIN_NS + MS(20) },
        { .tid = 9, .start_ns = BEGIN_NS + MS(20), .end_ns = BEGIN_NS + MS(30) },
    };
    struct run run = { .processes = &process, .process_count = 1, .threads = threads, .thread_count = 3 };
    struct summary summary = { 0 };
    concurrency_of_run(&summary, &run);
    assert_int_equal(summary.live_peak, 1);
    assert_int_equal(summary.threads_peak, 2);
}

static uint64_t seed = 1;

static uint32_t chance(uint32_t below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % below;
}

static bool is_ancestor(const struct process *tree, uint32_t above, uint32_t i)
{
    while (i != NONE && i != above)
        i = tree[i].parent;
    return i == above;
}

static bool alive(const struct process *process, uint64_t at_ns)
{
    return process->start_ns <= at_ns && at_ns < process->end_ns;
}

/* Whether short ones have the millisecond at_ns for themselves, by the definition. */
static bool only_short(const struct process *tree, uint32_t count, uint64_t at_ns)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!alive(&tree[i], at_ns))
            continue;
        bool excused = concurrency_is_short(&tree[i]);
        any |= excused;
        for (uint32_t s = 0; s < count && !excused; s++)
            excused = alive(&tree[s], at_ns) && concurrency_is_short(&tree[s]) && is_ancestor(tree, i, s);
        if (!excused)
            return false;
    }
    return any;
}

static void random_trees_agree_with_the_definition(void **state)
{
    (void)state;
    enum { COUNT = 40, LENGTH_MS = 120 };
    for (int round = 0; round < 300; round++) {
        struct process tree[COUNT];
        uint64_t want_ns = 0, peak = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t start = chance(LENGTH_MS), length = chance(3) ? 1 + chance(9) : 10 + chance(60);
            tree[i] = life(i && chance(8) ? chance(i) : NONE, start, start + length);
        }
        for (uint32_t at = 0; at < LENGTH_MS + 80; at++) {
            uint64_t now = 0;
            want_ns += only_short(tree, COUNT, BEGIN_NS + MS(at)) ? MS(1) : 0;
            for (uint32_t i = 0; i < COUNT; i++)
                now += alive(&tree[i], BEGIN_NS + MS(at));
            peak = now > peak ? now : peak;
        }
        struct summary summary = sweep(tree, COUNT);
        assert_int_equal(summary.short_wall_ns, want_ns);
        assert_int_equal(summary.live_peak, peak);
    }
}

static void a_chain_of_100000_is_no_trouble(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct process *tree = calloc(COUNT, sizeof *tree);
    for (uint32_t i = 0; i < COUNT; i++)
        tree[i] = life(i ? i - 1 : NONE, i, 2 * COUNT);
    assert_int_equal(sweep(tree, COUNT).live_peak, COUNT);
    free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_that_waits_for_short_processes_does_not_count),
        cmocka_unit_test(a_concurrent_long_process_counts),
        cmocka_unit_test(every_long_process_must_be_an_ancestor),
        cmocka_unit_test(a_short_process_in_between_is_skipped),
        cmocka_unit_test(an_ancestor_that_has_ended_does_not_count),
        cmocka_unit_test(an_exec_is_not_a_second_process),
        cmocka_unit_test(a_process_of_zero_duration_counts),
        cmocka_unit_test(unknown_times_are_ignored),
        cmocka_unit_test(threads_are_counted_with_the_main_thread),
        cmocka_unit_test(random_trees_agree_with_the_definition),
        cmocka_unit_test(a_chain_of_100000_is_no_trouble),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
