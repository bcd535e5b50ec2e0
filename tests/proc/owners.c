/* Which jobs a pid belongs to. */
#include "proc/owners.h"

#include "tools/unit.h"

static size_t count_of(const struct owners *owners, uint32_t pid)
{
    size_t count = 0;
    for (uint32_t i = owners_first(owners, pid); i != OWNERS_NONE; i = owners->list[i].next)
        count++;
    return count;
}

static void a_pid_may_have_several(void **state)
{
    (void)state;
    struct owners owners = { 0 };
    assert_int_equal(owners_first(&owners, 5), OWNERS_NONE);
    assert_int_equal(owners_put(&owners, 5, 1, 10, 100), OK);
    assert_int_equal(owners_put(&owners, 5, 2, 11, 200), OK);
    assert_int_equal(owners_put(&owners, 6, 1, 10, 300), OK);
    assert_int_equal(owners_put(&owners, 5, 1, 10, 101), OK); /* the same once more: its value is replaced */
    assert_int_equal(count_of(&owners, 5), 2);
    assert_int_equal(count_of(&owners, 6), 1);
    for (uint32_t i = owners_first(&owners, 5); i != OWNERS_NONE; i = owners.list[i].next)
        assert_int_equal(owners.list[i].value, owners.list[i].slot == 1 ? 101 : 200);
    assert_int_equal(owners_put(&owners, 5, 1, 12, 400), OK); /* another job in the same slot */
    assert_int_equal(count_of(&owners, 5), 3);
    owners_clear(&owners);
}

static void emptied_it_forgets_all(void **state)
{
    (void)state;
    struct owners owners = { 0 };
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t pid = 1; pid < 5000; pid++)
            assert_int_equal(owners_put(&owners, pid, pid % 7, round, pid), OK);
        for (uint32_t pid = 1; pid < 5000; pid++) {
            assert_int_equal(count_of(&owners, pid), 1);
            assert_int_equal(owners.list[owners_first(&owners, pid)].value, pid);
        }
        owners_reset(&owners);
        assert_int_equal(owners_first(&owners, 17), OWNERS_NONE);
    }
    owners_clear(&owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pid_may_have_several),
        cmocka_unit_test(emptied_it_forgets_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
