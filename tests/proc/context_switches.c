/* Context switches added up over threads that come and go. */
#include "proc/context_switches.h"

#include "tools/unit.h"

static void add(struct context_switches *switches, uint32_t tid, uint64_t voluntary, uint64_t involuntary)
{
    struct taskfile_switches value = { voluntary, involuntary };
    assert_int_equal(context_switches_add(switches, tid, &value), OK);
}

static void only_increases_are_added(void **state)
{
    (void)state;
    struct context_switches switches = { 0 };
    context_switches_begin(&switches);
    add(&switches, 1, 10, 1);
    add(&switches, 2, 20, 2);
    context_switches_begin(&switches);
    add(&switches, 2, 25, 2);
    add(&switches, 3, 5, 0);
    assert_int_equal(switches.sum.voluntary, 40); /* thread 1 exited: its switches stay */
    assert_int_equal(switches.sum.involuntary, 3);
    assert_int_equal(switches.live.voluntary, 30);
    assert_int_equal(switches.live.involuntary, 2);
    context_switches_clear(&switches);
}

static void a_reused_tid_is_a_new_thread(void **state)
{
    (void)state;
    struct context_switches switches = { 0 };
    context_switches_begin(&switches);
    add(&switches, 1, 100, 10);
    context_switches_begin(&switches);
    add(&switches, 1, 3, 1);
    assert_int_equal(switches.sum.voluntary, 103);
    context_switches_begin(&switches); /* not observed in between */
    context_switches_begin(&switches);
    add(&switches, 1, 150, 11);
    assert_int_equal(switches.sum.voluntary, 253);
    context_switches_clear(&switches);
}

static void thousands_of_threads_fit(void **state)
{
    (void)state;
    struct context_switches switches = { 0 };
    for (uint64_t round = 1; round <= 3; round++) {
        context_switches_begin(&switches);
        for (uint32_t tid = 1; tid <= 8000; tid++)
            add(&switches, tid, round * 2, round);
    }
    assert_int_equal(switches.sum.voluntary, 8000 * 6);
    assert_int_equal(switches.sum.involuntary, 8000 * 3);
    context_switches_clear(&switches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_increases_are_added),
        cmocka_unit_test(a_reused_tid_is_a_new_thread),
        cmocka_unit_test(thousands_of_threads_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
