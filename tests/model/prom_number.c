/* Formatted numbers parse to the same value. */
#include "tools/unit.h"

#include "model/prom_number.h"

#include <math.h>

static const char *u64(uint64_t value, unsigned decimals)
{
    static char text[PROM_NUMBER_MAX + 1];
    text[prom_number_u64(text, value, decimals)] = '\0';
    return text;
}

static const char *i64(int64_t value, unsigned decimals)
{
    static char text[PROM_NUMBER_MAX + 1];
    text[prom_number_i64(text, value, decimals)] = '\0';
    return text;
}

static const char *f64(double value)
{
    static char text[PROM_NUMBER_MAX + 1];
    text[prom_number_f64(text, value)] = '\0';
    return text;
}

static void whole_numbers(void **state)
{
    (void)state;
    char expected[32];
    for (uint64_t value = 1; value; value *= 2)
        for (uint64_t near = value - 1; near <= value + (value != UINT64_MAX); near++) {
            snprintf(expected, sizeof expected, "%llu", (unsigned long long)near);
            assert_string_equal(u64(near, 0), expected);
        }
    assert_string_equal(u64(UINT64_MAX, 0), "18446744073709551615");
    assert_string_equal(i64(INT64_MIN, 0), "-9223372036854775808");
    assert_string_equal(i64(-5, 0), "-5");
}

static void fractions(void **state)
{
    (void)state;
    assert_string_equal(u64(0, 6), "0");
    assert_string_equal(u64(1500, 3), "1.5");
    assert_string_equal(u64(1000000, 6), "1");
    assert_string_equal(u64(1, 9), "0.000000001");
    assert_string_equal(u64(UINT64_MAX, 9), "18446744073.709551615");
    assert_string_equal(u64(UINT64_MAX, 18), "18.446744073709551615");
    assert_string_equal(i64(-1250, 3), "-1.25");
}

static void floats_parse_to_the_same_value(void **state)
{
    (void)state;
    static const double values[] = { 0, 1, -1, 0.5, 0.1, 42.125, 1.0 / 3, 1e15, 1e16, 1e300, -1e-300, 123456.789012, 0.35,
                                     9007199254740993.0, 3.14159265358979, 55.123, 5e-324 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const char *text = f64(values[i]);
        if (strtod(text, NULL) != values[i])
            fail_msg("%.17g became %s", values[i], text);
    }
    uint64_t random = 88172645463325252ull;
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double value = (double)(int64_t)random / (double)(1ull << (i % 63)); /* of all sizes */
        const char *text = f64(value);
        if (strtod(text, NULL) != value)
            fail_msg("%.17g became %s", value, text);
    }
    for (int i = 1; i < 20000; i++) /* what division makes of small numbers */
        if (strtod(f64(i * 0.37 / 1e6), NULL) != i * 0.37 / 1e6)
            fail_msg("%.17g became %s", i * 0.37 / 1e6, f64(i * 0.37 / 1e6));
    assert_string_equal(f64(0.1), "0.1");
    assert_string_equal(f64(1.25e-7), "125e-9");
    assert_string_equal(f64(1.1 * 3), "3.3000000000000003");
    assert_string_equal(f64(-123456.7890123), "-123456.7890123");
    assert_string_equal(f64(0.5), "0.5");
    assert_string_equal(f64(42), "42");
    assert_string_equal(f64(55.123), "55.123");
    assert_string_equal(f64(NAN), "NaN");
    assert_string_equal(f64(INFINITY), "+Inf");
    assert_string_equal(f64(-INFINITY), "-Inf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers), cmocka_unit_test(fractions), cmocka_unit_test(floats_parse_to_the_same_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
