/* Which jobs a pid belongs to. */
#include "proc/pid_owners.h"

#include "tools/unit.h"

static size_t count_of(const struct pid_owners *owners, uint32_t pid)
{
    size_t count = 0;
    for (uint32_t i = pid_owners_first(owners, pid); i != PID_OWNERS_NONE; i = owners->list[i].next)
        count++;
    return count;
}

static void a_pid_may_have_several_owners(void **state)
{
    (void)state;
    struct pid_owners owners = { 0 };
    assert_int_equal(pid_owners_first(&owners, 5), PID_OWNERS_NONE);
    assert_int_equal(pid_owners_put(&owners, 5, 1, 10, 100), OK);
    assert_int_equal(pid_owners_put(&owners, 5, 2, 11, 200), OK);
    assert_int_equal(pid_owners_put(&owners, 6, 1, 10, 300), OK);
    assert_int_equal(pid_owners_put(&owners, 5, 1, 10, 101), OK); /* again: its value is replaced */
    assert_int_equal(count_of(&owners, 5), 2);
    assert_int_equal(count_of(&owners, 6), 1);
    for (uint32_t i = pid_owners_first(&owners, 5); i != PID_OWNERS_NONE; i = owners.list[i].next)
        assert_int_equal(owners.list[i].value, owners.list[i].slot == 1 ? 101 : 200);
    assert_int_equal(pid_owners_put(&owners, 5, 1, 12, 400), OK); /* another job in the same slot */
    assert_int_equal(count_of(&owners, 5), 3);
    pid_owners_clear(&owners);
}

static void reset_empties_it(void **state)
{
    (void)state;
    struct pid_owners owners = { 0 };
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t pid = 1; pid < 5000; pid++)
            assert_int_equal(pid_owners_put(&owners, pid, pid % 7, round, pid), OK);
        for (uint32_t pid = 1; pid < 5000; pid++) {
            assert_int_equal(count_of(&owners, pid), 1);
            assert_int_equal(owners.list[pid_owners_first(&owners, pid)].value, pid);
        }
        pid_owners_reset(&owners);
        assert_int_equal(pid_owners_first(&owners, 17), PID_OWNERS_NONE);
    }
    pid_owners_clear(&owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pid_may_have_several_owners),
        cmocka_unit_test(reset_empties_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
