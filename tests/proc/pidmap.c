/* The map of pids, compared with a plain array. */
#include "proc/pidmap.h"

#include "tools/unit.h"

static void an_empty_map_finds_nothing(void **state)
{
    (void)state;
    struct pidmap map = { 0 };
    assert_int_equal(pidmap_get(&map, 1), PIDMAP_NONE);
    pidmap_reset(&map);
    assert_int_equal(pidmap_get(&map, 0), PIDMAP_NONE);
    pidmap_clear(&map);
}

static void all_entries_are_found_while_it_grows(void **state)
{
    (void)state;
    struct pidmap map = { 0 };
    for (uint32_t pid = 0; pid < 5000; pid++)
        assert_int_equal(pidmap_put(&map, pid * 64, pid), OK);
    for (uint32_t pid = 0; pid < 5000; pid++) {
        assert_int_equal(pidmap_get(&map, pid * 64), pid);
        assert_int_equal(pidmap_get(&map, pid * 64 + 1), PIDMAP_NONE);
    }
    assert_int_equal(map.count, 5000);
    pidmap_clear(&map);
}

static void a_second_value_replaces_the_first(void **state)
{
    (void)state;
    struct pidmap map = { 0 };
    pidmap_put(&map, 7, 1);
    pidmap_put(&map, 7, 2);
    assert_int_equal(pidmap_get(&map, 7), 2);
    assert_int_equal(map.count, 1);
    pidmap_clear(&map);
}

static void reset_empties_the_map(void **state)
{
    (void)state;
    struct pidmap map = { 0 };
    for (int round = 0; round < 3; round++) {
        for (uint32_t pid = 0; pid < 30; pid++)
            assert_int_equal(pidmap_get(&map, pid), PIDMAP_NONE);
        for (uint32_t pid = 0; pid < 30; pid++)
            pidmap_put(&map, pid, pid + 100);
        assert_int_equal(pidmap_get(&map, 29), 129);
        pidmap_reset(&map);
    }
    pidmap_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_finds_nothing),
        cmocka_unit_test(all_entries_are_found_while_it_grows),
        cmocka_unit_test(a_second_value_replaces_the_first),
        cmocka_unit_test(reset_empties_the_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
