/* Timers move from one process to another: they run in only one of them. */
#include "run/itimers.h"

#include "tools/unit.h"

static long seconds_left(int which)
{
    struct itimerval now;
    assert_int_equal(getitimer(which, &now), 0);
    return now.it_value.tv_sec;
}

static int stop_all(void **state)
{
    (void)state;
    struct itimers itimers;
    itimers_take(&itimers);
    return 0;
}

static void timers_continue_where_they_are_restored(void **state)
{
    (void)state;
    struct itimers itimers;
    setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_sec = 1000, .it_interval.tv_sec = 7 }, NULL);
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = 2000 }, NULL);
    itimers_take(&itimers);
    assert_int_equal(seconds_left(ITIMER_REAL) + seconds_left(ITIMER_PROF), 0);
    itimers_give(&itimers);
    assert_in_range(seconds_left(ITIMER_REAL), 900, 1000);
    assert_in_range(seconds_left(ITIMER_PROF), 1900, 2000);
    assert_int_equal(seconds_left(ITIMER_VIRTUAL), 0);
    assert_int_equal(itimers.left[0].it_interval.tv_sec, 7);
}

static void no_timers_stay_unset(void **state)
{
    (void)state;
    struct itimers itimers;
    itimers_take(&itimers);
    itimers_give(&itimers);
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
        assert_int_equal(seconds_left(which), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timers_continue_where_they_are_restored, stop_all, stop_all),
        cmocka_unit_test_setup_teardown(no_timers_stay_unset, stop_all, stop_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
