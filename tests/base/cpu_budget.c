/* Only the time of the thread that has a budget counts. */
#include "base/cpu_budget.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <pthread.h>

static bool spends_in(uint64_t ns)
{
    uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    bool is_spent = false;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        for (int i = 0; i < 100; i++)
            is_spent |= cpu_budget_is_spent();
    return is_spent;
}

static void budget_is_spent_after_its_time(void **state)
{
    (void)state;
    assert_false(spends_in(5 * NS_PER_MS)); /* no budget, no limit */
    cpu_budget_set(NS_PER_S);
    assert_false(spends_in(5 * NS_PER_MS));
    cpu_budget_set(NS_PER_MS);
    assert_true(spends_in(50 * NS_PER_MS));
    assert_true(cpu_budget_is_spent());
    cpu_budget_set(0);
    assert_false(cpu_budget_is_spent());
}

static void *ask(void *context)
{
    *(bool *)context = spends_in(5 * NS_PER_MS);
    return NULL;
}

static void other_threads_have_no_limit(void **state)
{
    (void)state;
    pthread_t thread;
    bool is_spent = true;
    cpu_budget_set(1);
    assert_int_equal(pthread_create(&thread, NULL, ask, &is_spent), 0);
    pthread_join(thread, NULL);
    assert_false(is_spent);
    assert_true(cpu_budget_is_spent());
    cpu_budget_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget_is_spent_after_its_time),
        cmocka_unit_test(other_threads_have_no_limit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
