/* These hashes are saved on disk and in databases: they must never change. */
#include "base/hash.h"

#include "tools/unit.h"

static void the_values_are_those_of_fnv_1a(void **state)
{
    (void)state;
    assert_true(hash_add(HASH_START, "", 0) == HASH_START);
    assert_true(hash_add(HASH_START, "a", 1) == 0xaf63dc4c8601ec8cull);
    assert_true(hash_add(HASH_START, "foobar", 6) == 0x85944171f73967e8ull);
    assert_true(hash_add(HASH_START, "\xff", 1) == hash_add_text(HASH_START, "")); /* bytes count as unsigned */
}

static void hashing_in_parts_is_the_same(void **state)
{
    (void)state;
    assert_true(hash_add(hash_add(HASH_START, "foo", 3), "bar", 3) == hash_add(HASH_START, "foobar", 6));
}

static void the_end_of_a_string_is_hashed(void **state)
{
    (void)state;
    assert_true(hash_add_text(hash_add_text(HASH_START, "ab"), "c") != hash_add_text(hash_add_text(HASH_START, "a"), "bc"));
    assert_true(hash_add_text(hash_add_text(HASH_START, "a"), "") != hash_add_text(HASH_START, "a"));
    assert_true(hash_add_text(HASH_START, NULL) == hash_add_text(HASH_START, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_values_are_those_of_fnv_1a),
        cmocka_unit_test(hashing_in_parts_is_the_same),
        cmocka_unit_test(the_end_of_a_string_is_hashed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
