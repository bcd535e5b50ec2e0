/* Wait records; and all wrapped calls return the same as without the probe. */
#include "tools/probed.h"
#include "tools/unit.h"

#include <sys/wait.h>

static struct probed probed;

static int open_probed(void **state)
{
    (void)state;
    probed_open(&probed);
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    probed_close(&probed);
    return 0;
}

static void every_call_gives_the_same(void **state)
{
    (void)state;
    static char bare[16384], with[16384];
    char tool[TEMP_PATH_MAX];
    temp_join(tool, getenv("TOOLS"), "acts_calls");
    probed_bare(&probed, (char *[]){ tool, NULL });
    assert_int_equal(probed.status, 0);
    assert_true(probed_output(&probed, bare, sizeof bare) > 3000);
    probed_program(&probed, (char *[]){ tool, NULL });
    assert_int_equal(probed.status, 0);
    probed_output(&probed, with, sizeof with);
    assert_string_equal(bare, with);
    assert_int_equal(probed_lost(&probed), 0);
}

/* Children that the test program has waited for, in the order of its source. */
static void every_ended_child_is_recorded_once(void **state)
{
    (void)state;
    char tool[TEMP_PATH_MAX];
    temp_join(tool, getenv("TOOLS"), "acts_calls");
    probed_program(&probed, (char *[]){ tool, NULL });
    size_t own = 0, killed = 0;
    struct wait_record wait;
    for (size_t i = 0; probed_wait(&probed, i, &wait); i++) {
        if (wait.waiter != (uint64_t)probed.pid)
            continue;
        assert_true(WIFEXITED((int)wait.status) || WIFSIGNALED((int)wait.status));
        assert_true(counters_get(&wait.usage, COUNTER_minflt) > 0);
        killed += WIFSIGNALED((int)wait.status) && WTERMSIG((int)wait.status) == SIGKILL;
        own++;
    }
    /* wait: 9; waitid: 3; posix_spawn: 2; system: 5, the one with SIGCHLD ignored gives none; pclose: 2; cancelled
     * system: 1; stopped child of the cancelled waits: 1 */
    assert_int_equal(own, 9 + 3 + 2 + 5 + 2 + 1 + 1);
    assert_int_equal(killed, 1 + 1 + 1 + 1 + 1);
}

/* RUSAGE_CHILDREN of the parent is the sum of the waits. */
static void waits_add_up_to_the_children(void **state)
{
    (void)state;
    probed_act(&probed, "waits", NULL);
    assert_int_equal(probed.status, 0);
    struct counters sum = { 0 };
    struct wait_record wait;
    struct end_record end;
    for (size_t i = 0; probed_wait(&probed, i, &wait); i++)
        if (wait.waiter == (uint64_t)probed.pid)
            counters_add(&sum, &wait.usage);
    size_t i = 0;
    while (probed_end(&probed, i, &end) && end.pid != (uint64_t)probed.pid)
        i++;
    assert_int_equal(end.pid, probed.pid);
    uint64_t children_us = counters_cpu_us(&end.children), waits_us = counters_cpu_us(&sum);
    assert_true(children_us > 0);
    assert_true(waits_us <= children_us + 10 && waits_us + 10 >= children_us); /* each wait is rounded */
    assert_int_equal(counters_get(&sum, COUNTER_minflt), counters_get(&end.children, COUNTER_minflt));
    assert_int_equal(counters_get(&end.main, COUNTER_cminflt), counters_get(&end.children, COUNTER_minflt));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(every_call_gives_the_same),
        TEST(every_ended_child_is_recorded_once),
        TEST(waits_add_up_to_the_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
