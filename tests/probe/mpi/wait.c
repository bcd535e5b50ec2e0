/* Which part of MPI calls counts as waiting. In this test a tick is a nanosecond. */
#include "../src/probe/mpi/wait.c"

#include "tools/unit.h"

struct function_waits function_waits[2];

static int begin(void **state)
{
    (void)state;
    memset(function_waits, 0, sizeof function_waits);
    ticks_per_ns = 1;
    return 0;
}

/* Of a collective with this many ranks, or point to point if 0. */
static uint64_t waited(uint64_t bytes, uint32_t ranks, uint64_t ticks)
{
    struct wait_kind kind = wait_find(1, bytes, ranks);
    return wait_ticks(1, &kind, ticks);
}

static void time_beyond_the_shortest_call_is_waiting(void **state)
{
    (void)state;
    assert_int_equal(waited(8, 0, 5000), 0);
    assert_int_equal(waited(8, 0, 105000), 99999); /* a tick may be missing */
    assert_int_equal(waited(8, 0, 3000), 0);
    assert_int_equal(waited(8, 0, 5000), 1999);
    assert_int_equal(waited(8000, 0, 5000), 0); /* other sizes or ranks: another kind */
    assert_int_equal(waited(8, 4, 5000), 0);
}

static void time_beyond_a_slow_network_is_waiting(void **state)
{
    (void)state;
    assert_int_equal(waited(0, 0, 1000000), 1000000 - 20020);
    assert_int_equal(waited(0, 0, 1000000), 1000000 - 20020);
    assert_int_equal(waited(0, 4, 1000000), 1000000 - 80020);
    assert_int_equal(waited(1 << 20, 0, 30000000), 30000000 - 20000 - (20 << 20));
}

/* One took 1 ns, the others 50 times as long: they did not wait. */
static void time_within_a_fast_network_is_not_waiting(void **state)
{
    (void)state;
    assert_int_equal(waited(0, 0, 1), 0);
    assert_int_equal(waited(0, 0, 50), 0);
    assert_int_equal(waited(0, 0, 1), 0);
    assert_int_equal(waited(0, 0, 11000), 10000);
    assert_int_equal(waited(0, 1024, 5000), 0);
    assert_int_equal(waited(0, 1024, 11000), 0);
    assert_int_equal(waited(0, 1024, 112000), 100000);
    assert_int_equal(waited(1 << 20, 0, 50000), 0);
    assert_int_equal(waited(1 << 20, 0, 105000), 0);
    assert_int_equal(waited(1 << 20, 0, 205856), 100000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, NULL)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(time_beyond_the_shortest_call_is_waiting), T(time_beyond_a_slow_network_is_waiting),
        T(time_within_a_fast_network_is_not_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
