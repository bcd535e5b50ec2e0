/* Energy shares are proportional to CPU time and never exceed the total. */
#include "samplers/energy_share.h"

#include "tools/unit.h"

#define S 1000000000ull
#define assert_near(got, wanted, by) assert_true((got) >= (wanted) - (by) && (got) <= (wanted) + (by))

static void a_fraction_is_between_0_and_1(void **state)
{
    (void)state;
    assert_near(energy_share_fraction(1 * S, 4 * S), 0.25, 1e-12);
    assert_true(energy_share_fraction(0, 4 * S) == 0);
    assert_true(energy_share_fraction(0, 0) == 0);
    assert_true(energy_share_fraction(5 * S, 4 * S) == 1); /* ticks are coarse */
    assert_true(energy_share_fraction(1, 0) == 1);
    assert_true(energy_share_fraction(UINT64_MAX, UINT64_MAX) == 1);
}

static void a_round_distributes_by_cpu_time(void **state)
{
    (void)state;
    struct energy_share_pool pool = { .energy_uj = { 1000, 0, 0, 80 }, .busy_ns = 10 * S };
    struct energy_share_job a = { .cpu_ns = 100 * S }, b = { .cpu_ns = 0 };
    energy_share_update(&a, 104 * S);
    energy_share_update(&b, 1 * S);
    energy_share_assign(&pool, 5 * S, &a);
    energy_share_assign(&pool, 5 * S, &b);
    energy_share_reset(&pool);
    assert_near(a.energy_uj[0], 400, 1e-9);
    assert_near(b.energy_uj[0], 100, 1e-9);
    assert_near(a.energy_uj[3], 32, 1e-9);
    assert_true(a.energy_uj[1] == 0);
    assert_true(pool.busy_ns == 0 && pool.energy_uj[0] == 0);
    pool = (struct energy_share_pool){ .energy_uj = { 500 }, .busy_ns = 10 * S };
    energy_share_update(&a, 104 * S); /* it is idle */
    energy_share_assign(&pool, 0, &a);
    assert_near(a.energy_uj[0], 400, 1e-9);
}

static void shares_never_exceed_the_total(void **state)
{
    (void)state;
    struct energy_share_pool pool = { .energy_uj = { 900 }, .busy_ns = 2 * S };
    struct energy_share_job a = { 0 }, b = { 0 };
    energy_share_update(&a, 2 * S);
    energy_share_update(&b, 1 * S);
    energy_share_assign(&pool, 3 * S, &a);
    energy_share_assign(&pool, 3 * S, &b);
    assert_near(a.energy_uj[0], 600, 1e-9);
    assert_near(b.energy_uj[0], 300, 1e-9);
}

static void an_ending_job_takes_its_share(void **state)
{
    (void)state;
    struct energy_share_pool pool = { .energy_uj = { 1000 }, .busy_ns = 10 * S };
    struct energy_share_job a = { 0 }, b = { 0 };
    energy_share_update(&a, 4 * S);
    energy_share_end(&pool, &a);
    assert_near(a.energy_uj[0], 400, 1e-9);
    assert_near(pool.energy_uj[0], 600, 1e-9);
    assert_true(pool.busy_ns == 6 * S);
    pool.energy_uj[0] += 1400; /* time passes until the round */
    pool.busy_ns += 14 * S;
    energy_share_update(&b, 20 * S);
    energy_share_assign(&pool, 20 * S, &b);
    assert_near(a.energy_uj[0] + b.energy_uj[0], 2400, 1e-6); /* everything */
}

static void a_decreasing_count_restarts(void **state)
{
    (void)state;
    struct energy_share_job a = { .cpu_ns = 10 * S };
    energy_share_update(&a, 3 * S);
    assert_true(a.pending_ns == 0);
    energy_share_update(&a, 4 * S);
    assert_true(a.pending_ns == 1 * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fraction_is_between_0_and_1),
        cmocka_unit_test(a_round_distributes_by_cpu_time),
        cmocka_unit_test(shares_never_exceed_the_total),
        cmocka_unit_test(an_ending_job_takes_its_share),
        cmocka_unit_test(a_decreasing_count_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
