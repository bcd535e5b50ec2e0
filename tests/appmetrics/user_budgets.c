/* Users share what an agent can hold and the time it spends, so that one of them cannot lock the others out. */
#include "appmetrics/user_budgets.h"

#include "base/clock.h"

#include "tools/unit.h"

#include <unistd.h>

static struct user_budgets budgets;
static uint32_t mallory, alice; /* neither root nor the user of this test */

static int open_all(void **state)
{
    (void)state;
    mallory = geteuid() + 1;
    alice = geteuid() + 2;
    user_budgets_init(&budgets, true);
    budgets.max[BUDGET_ENTRIES] = 8;
    budgets.max[BUDGET_BYTES] = 1000;
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    user_budgets_clear(&budgets);
    return 0;
}

static int take_all(uint32_t uid, enum budget budget)
{
    int count = 0;
    while (user_budgets_take(&budgets, uid, budget, 1))
        count++;
    return count;
}

static void nobody_gets_more_than_is_left_for_the_others(void **state)
{
    (void)state;
    assert_int_equal(take_all(mallory, BUDGET_ENTRIES), 4);
    assert_int_equal(take_all(alice, BUDGET_ENTRIES), 2);
    assert_int_equal(take_all(mallory, BUDGET_ENTRIES), 0);
    assert_int_equal(user_budgets_refused(&budgets), 3);
    user_budgets_return(&budgets, mallory, BUDGET_ENTRIES, 4);
    assert_int_equal(take_all(alice, BUDGET_ENTRIES), 2);
}

static void large_amounts_are_limited_in_the_same_way(void **state)
{
    (void)state;
    assert_false(user_budgets_take(&budgets, mallory, BUDGET_BYTES, 501));
    assert_true(user_budgets_take(&budgets, mallory, BUDGET_BYTES, 500));
    assert_false(user_budgets_take(&budgets, mallory, BUDGET_BYTES, 1));
    assert_int_equal(user_budgets_left(&budgets, alice, BUDGET_BYTES), 250);
}

static void root_and_the_own_user_are_not_limited(void **state)
{
    (void)state;
    budgets.max[BUDGET_DESCRIPTORS] = 8;
    for (int i = 0; i < 10; i++)
        assert_true(user_budgets_take(&budgets, i % 2 ? 0 : geteuid(), BUDGET_DESCRIPTORS, 1));
    assert_int_equal(user_budgets_left(&budgets, 0, BUDGET_DESCRIPTORS), 0);
    assert_false(user_budgets_take(&budgets, mallory, BUDGET_DESCRIPTORS, 1));
    uint64_t left = user_budgets_left(&budgets, 0, BUDGET_BYTES);
    assert_true(left > 1000 && left + (1u << 30) > left); /* what a segment has already is added to it */
    budgets.is_by_user = false;
    assert_true(user_budgets_take(&budgets, mallory, BUDGET_DESCRIPTORS, 1));
}

static void time_is_limited_to_a_share(void **state)
{
    uint64_t now_ns = clock_monotonic_ns(), spent_ns = 0;
    (void)state;
    for (int second = 0; second < 100; second++, now_ns += NS_PER_S)
        while (user_budgets_have_time(&budgets, mallory, now_ns)) {
            user_budgets_spend(&budgets, mallory, now_ns, NS_PER_S / 100);
            spent_ns += NS_PER_S / 100;
            assert_true(user_budgets_have_time(&budgets, alice, now_ns));
        }
    assert_in_range(spent_ns, 4 * NS_PER_S, 6 * NS_PER_S); /* a twentieth of 100 s */
    for (int i = 0; i < 1000; i++)
        user_budgets_spend(&budgets, 0, now_ns, NS_PER_S);
    assert_true(user_budgets_have_time(&budgets, 0, now_ns));
}

static void users_without_anything_are_forgotten(void **state)
{
    (void)state;
    assert_true(user_budgets_take(&budgets, alice, BUDGET_BYTES, 100));
    for (uint32_t i = 0; i < 10000; i++) {
        assert_true(user_budgets_take(&budgets, 100000 + i, BUDGET_BYTES, 1));
        user_budgets_return(&budgets, 100000 + i, BUDGET_BYTES, 1);
    }
    assert_true(budgets.users.count <= 4096);
    assert_int_equal(user_budgets_left(&budgets, alice, BUDGET_BYTES), 400);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_gets_more_than_is_left_for_the_others), TEST(large_amounts_are_limited_in_the_same_way),
        TEST(root_and_the_own_user_are_not_limited), TEST(time_is_limited_to_a_share),
        TEST(users_without_anything_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
