/* Numbers of programs that run beside one another. */
#include "appmetrics/mpi_worlds.h"

#include "tools/unit.h"

static struct mpi_worlds *worlds;

static int end_all(void **state)
{
    (void)state;
    mpi_worlds_free(&worlds);
    return 0;
}

static uint32_t number(uint64_t program, uint64_t begin_ns, uint64_t end_ns)
{
    struct mpi_lifetime life = { program, begin_ns, end_ns };
    return mpi_worlds_assign(&worlds, &life);
}

static void concurrent_programs_have_different_numbers(void **state)
{
    (void)state;
    assert_int_equal(number(77, 10, UINT64_MAX), 1);
    assert_int_equal(number(77, 11, UINT64_MAX), 1); /* another rank of it */
    assert_int_equal(number(88, 12, UINT64_MAX), 2);
    mpi_worlds_end_rank(worlds, 1, 20);
    assert_int_equal(number(99, 30, UINT64_MAX), 3); /* a rank of the first is still there */
    mpi_worlds_end_rank(worlds, 1, 40);
    assert_int_equal(number(111, 50, UINT64_MAX), 1);
    assert_int_equal(number(88, 51, UINT64_MAX), 2);
}

/* All were over before anybody looked, and are met in any order. */
static void consecutive_programs_share_a_number(void **state)
{
    static const struct mpi_lifetime lives[] = { { 2, 30, 40 }, { 1, 10, 20 }, { 1, 11, 21 }, { 2, 31, 41 }, { 3, 41, 50 } };
    (void)state;
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        assert_int_equal(mpi_worlds_assign(&worlds, &lives[i]), 1);
        mpi_worlds_end_rank(worlds, 1, lives[i].end_ns);
    }
    assert_int_equal(number(4, 45, 60), 2);
    mpi_worlds_end_rank(worlds, 2, 60);
}

static void programs_above_the_maximum_share_the_last_number(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= MPI_WORLDS_MAX; i++)
        assert_int_equal(number(i, 1, UINT64_MAX), i);
    assert_int_equal(number(1000, 1, UINT64_MAX), MPI_WORLDS_MAX);
    assert_int_equal(number(1001, 1, UINT64_MAX), MPI_WORLDS_MAX);
}

static void unknown_programs_are_one(void **state)
{
    (void)state;
    assert_int_equal(number(0, 1, UINT64_MAX), 1);
    assert_int_equal(number(0, 2, UINT64_MAX), 1);
    assert_int_equal(number(5, 2, UINT64_MAX), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(concurrent_programs_have_different_numbers, end_all),
        cmocka_unit_test_teardown(consecutive_programs_share_a_number, end_all),
        cmocka_unit_test_teardown(programs_above_the_maximum_share_the_last_number, end_all),
        cmocka_unit_test_teardown(unknown_programs_are_one, end_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
