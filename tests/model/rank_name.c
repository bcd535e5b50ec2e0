/* Names of ranks: formatted, parsed, compared. */
#include "model/rank_name.h"

#include "tools/unit.h"

static void names_are_parsed_back(void **state)
{
    static const struct {
        struct rank_name name;
        const char *text, *expected;
    } cases[] = {
        { { 3, 1, 0 }, "3", "3" },
        { { 0, 1, 12 }, "0@12", "0 of world 12" },
        { { 7, 2, 0 }, "7#2", "7 of program 2" },
        { { 7, 64, 255 }, "7#64@255", "7 of program 64, world 255" },
        { { INT32_MAX, 64, 255 }, "2147483647#64@255", "2147483647 of program 64, world 255" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct format_text text = rank_name_string(cases[i].name);
        const char *at = text.s;
        struct rank_name read;
        assert_string_equal(text.s, cases[i].text);
        assert_string_equal(rank_name_format(cases[i].name).s, cases[i].expected);
        assert_true(rank_name_read(&at, &read));
        assert_int_equal(*at, 0);
        assert_int_equal(rank_name_compare(read, cases[i].name), 0);
    }
}

static void invalid_names_are_rejected(void **state)
{
    static const char *const bad[] = { "", "x", " 3", "-3", "3#", "3@", "3#@1", "3@-1", "4294967296", "3@99999999999" };
    struct rank_name name;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *at = bad[i];
        assert_false(rank_name_read(&at, &name));
    }
}

static void order_is_program_world_rank(void **state)
{
    (void)state;
    assert_true(rank_name_compare((struct rank_name){ 9, 1, 9 }, (struct rank_name){ 0, 2, 0 }) < 0);
    assert_true(rank_name_compare((struct rank_name){ 0, 1, 1 }, (struct rank_name){ 9, 1, 0 }) > 0);
    assert_true(rank_name_compare((struct rank_name){ 2, 1, 0 }, (struct rank_name){ 10, 1, 0 }) < 0);
    assert_true(rank_name_same_world((struct rank_name){ 2, 1, 3 }, (struct rank_name){ 10, 1, 3 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_parsed_back),
        cmocka_unit_test(invalid_names_are_rejected),
        cmocka_unit_test(order_is_program_world_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
