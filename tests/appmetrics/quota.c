/* Places of owners, without metrics. */
#include "appmetrics/quota.h"

#include "tools/unit.h"

static struct quota quota;
static struct quota_owner ada, bob;
static struct quota_entry entries[10];

static int open_quota(void **state)
{
    (void)state;
    quota_init(&quota, 10);
    ada = bob = (struct quota_owner){ 0 };
    quota_add_user(&quota, &ada);
    quota_add_user(&quota, &bob);
    return 0;
}

static void users_share_what_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_true(quota_allows(&quota, &ada, 1));
        quota_add(&quota, &entries[i], &ada, 1);
    }
    assert_false(quota_allows(&quota, &ada, 1)); /* half of all */
    assert_true(quota_allows(&quota, &bob, 5));
    assert_false(quota_allows(&quota, &bob, 6));
    assert_true(quota_allows(&quota, &quota.shared, 5));
    quota_add(&quota, &entries[5], &bob, 3);
    assert_false(quota_allows(&quota, &bob, 1));
}

static void oldest_idle_entry_of_the_owner_with_most_is_evicted(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        quota_add(&quota, &entries[i], i < 3 ? &ada : &bob, 2);
    assert_null(quota_eviction(&quota, 2)); /* fits */
    assert_null(quota_eviction(&quota, 3)); /* nothing is idle */
    assert_true(quota_is_full(&quota, 3));
    quota_release(&quota, &entries[3]);
    quota_release(&quota, &entries[1]);
    quota_release(&quota, &entries[0]);
    assert_ptr_equal(quota_eviction(&quota, 3), &entries[1]);
    quota_remove(&quota, &entries[1]);
    assert_null(quota_eviction(&quota, 3));
    assert_int_equal(quota.in_use + quota.idle, 6);
}

static void entry_is_idle_when_its_last_use_ends(void **state)
{
    (void)state;
    quota_add(&quota, &entries[0], &ada, 10);
    quota_use(&quota, &entries[0]);
    quota_release(&quota, &entries[0]);
    assert_null(quota_eviction(&quota, 1));
    quota_release(&quota, &entries[0]);
    assert_ptr_equal(quota_eviction(&quota, 1), &entries[0]);
    quota_use(&quota, &entries[0]);
    assert_null(quota_eviction(&quota, 1));
    assert_true(ada.in_use == 10 && ada.idle == 0 && quota.in_use == 10 && quota.idle == 0);
}

static void idle_entry_becomes_that_of_the_next_user(void **state)
{
    (void)state;
    quota_add(&quota, &entries[0], &ada, 2);
    assert_int_equal(quota_claim(&quota, &entries[0], &bob), OK);
    assert_ptr_equal(entries[0].owner, &ada); /* it is in use */
    quota_release(&quota, &entries[0]);
    quota_add(&quota, &entries[1], &bob, 5);
    assert_int_equal(quota_claim(&quota, &entries[0], &bob), FULL);
    quota_release(&quota, &entries[1]);
    assert_int_equal(quota_claim(&quota, &entries[0], &bob), OK);
    assert_true(entries[0].owner == &bob && ada.idle == 0 && bob.idle == 7);
}

static void values_of_jobs_are_limited(void **state)
{
    size_t taken = 0;
    (void)state;
    while (quota_take_value(&quota, &ada, 1))
        taken++;
    assert_int_equal(taken, 20); /* two jobs with all metrics */
    assert_true(quota_take_value(&quota, &bob, 1));
    quota_return_value(&ada, 1);
    assert_true(quota_take_value(&quota, &ada, 1));
}

#define T(name) cmocka_unit_test_setup(name, open_quota)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(users_share_what_is_left), T(oldest_idle_entry_of_the_owner_with_most_is_evicted),
        T(entry_is_idle_when_its_last_use_ends), T(idle_entry_becomes_that_of_the_next_user), T(values_of_jobs_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
