/* The offset between the two clocks, measured while other threads compete for the CPU. */
#include "base/clock.h"

#include "tools/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define CROWD 6

static atomic_bool done;

static void *want_the_cpu(void *nothing)
{
    while (!done)
        ;
    return nothing;
}

static void the_offset_is_correct_under_preemption(void **state)
{
    (void)state;
    pthread_t threads[CROWD];
    done = false;
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, want_the_cpu, NULL), 0);
    uint64_t least_ns = UINT64_MAX, most_ns = 0, until_ns = clock_monotonic_ns() + NS_PER_S;
    while (clock_monotonic_ns() < until_ns) {
        uint64_t offset_ns = clock_offset_ns();
        least_ns = offset_ns < least_ns ? offset_ns : least_ns;
        most_ns = offset_ns > most_ns ? offset_ns : most_ns;
    }
    done = true;
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(most_ns - least_ns, 0, 20 * NS_PER_US);
}

static void the_offset_converts_between_the_clocks(void **state)
{
    (void)state;
    uint64_t told_ns = clock_monotonic_ns() + clock_offset_ns(), real_ns = clock_realtime_ns();
    assert_true(real_ns + NS_PER_S > told_ns && told_ns + NS_PER_S > real_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_offset_is_correct_under_preemption),
        cmocka_unit_test(the_offset_converts_between_the_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
