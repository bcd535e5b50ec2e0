/* Numbers and lines of /proc files. */
#include "base/scan.h"

#include "tools/unit.h"

static void numbers_are_read_after_spaces(void **state)
{
    (void)state;
    const char *text = " \t42 7x", *at = text;
    uint64_t value;
    assert_true(scan_u64(&at, &value));
    assert_int_equal(value, 42);
    assert_true(scan_u64(&at, &value));
    assert_int_equal(value, 7);
    assert_false(scan_u64(&at, &value));
    assert_string_equal(at, "x");
}

static void overflow_is_rejected(void **state)
{
    (void)state;
    const char *largest = "18446744073709551615", *larger = "18446744073709551616", *at = largest;
    uint64_t value = 0;
    assert_true(scan_u64(&at, &value));
    assert_true(value == UINT64_MAX);
    at = larger;
    assert_false(scan_u64(&at, &value));
    assert_ptr_equal(at, larger);
    at = "184467440737095516160";
    assert_false(scan_u64(&at, &value));
    at = "000000000000000000000000000042";
    assert_true(scan_u64(&at, &value));
    assert_int_equal(value, 42);
}

static void negative_numbers_are_rejected(void **state)
{
    (void)state;
    const char *at = "-1";
    uint64_t value;
    assert_false(scan_u64(&at, &value));
}

static void decimals_are_read(void **state)
{
    (void)state;
    const char *at = "120.25 3 x";
    double value;
    assert_true(scan_decimal(&at, &value));
    assert_true(value > 120.2499 && value < 120.2501);
    assert_true(scan_decimal(&at, &value));
    assert_true(value > 2.9999 && value < 3.0001);
    assert_false(scan_decimal(&at, &value));
}

static void decimals_equal_those_of_the_compiler(void **state)
{
    (void)state;
    static const struct { const char *text; double value; } rows[] = {
        { "0.42", 0.42 }, { "86.23", 86.23 }, { "99.99", 99.99 }, { "0.10", 0.1 }, { "1.", 1 }, { "7.123456", 7.123456 },
        { "18446744073709551615.5", 18446744073709551615.0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *at = rows[i].text;
        double value;
        assert_true(scan_decimal(&at, &value));
        assert_true(value == rows[i].value);
        assert_int_equal(*at, '\0');
    }
}

static void lines_are_found_by_key(void **state)
{
    (void)state;
    const char *text = "Xa: 1\na: 2\nab: 3";
    uint64_t value;
    assert_true(scan_line_u64(text, "a:", &value));
    assert_int_equal(value, 2);
    assert_true(scan_line_u64(text, "ab:", &value));
    assert_int_equal(value, 3);
    assert_null(scan_line(text, "b:"));
    assert_null(scan_next_line("last\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_after_spaces),
        cmocka_unit_test(overflow_is_rejected),
        cmocka_unit_test(negative_numbers_are_rejected),
        cmocka_unit_test(decimals_are_read),
        cmocka_unit_test(decimals_equal_those_of_the_compiler),
        cmocka_unit_test(lines_are_found_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
