/* Formatting (base/format.h) and parsing (base/parse.h) of numbers, sizes, durations and times. */
#include "base/format.h"

#include "base/clock.h"
#include "base/parse.h"
#include "tools/unit.h"

#include <time.h>

static void durations_are_formatted(void **state)
{
    (void)state;
    static const struct { uint64_t ns; const char *text, *narrow; } cases[] = {
        { 0, "0 s", "0s" },
        { 850, "850 ns", "850ns" },
        { 12300, "12.3 us", "12us" },
        { 999499, "999 us", "999us" },
        { 999500, "1.0 ms", "1.0ms" },
        { 250 * NS_PER_MS, "250 ms", "250ms" },
        { 999600 * NS_PER_US, "1.0 s", "1.0s" },
        { 1500 * NS_PER_MS, "1.5 s", "1.5s" },
        { 59940 * NS_PER_MS, "59.9 s", "1m00s" },
        { 59960 * NS_PER_MS, "1 min 00 s", "1m00s" },
        { 123 * NS_PER_S, "2 min 03 s", "2m03s" },
        { 3599 * NS_PER_S, "59 min 59 s", "59m59s" },
        { 3600 * NS_PER_S, "1 h 00 min", "1h00m" },
        { 7380 * NS_PER_S, "2 h 03 min", "2h03m" },
        { 276000 * NS_PER_S, "3 d 05 h", "3d05h" },
        { UINT64_MAX, "213504 d 00 h", "213504d00h" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(format_duration(cases[i].ns).s, cases[i].text);
        assert_string_equal(format_duration_short(cases[i].ns).s, cases[i].narrow);
    }
}

static void bytes_are_formatted(void **state)
{
    (void)state;
    assert_string_equal(format_bytes(0).s, "0 B");
    assert_string_equal(format_bytes(1023).s, "1023 B");
    assert_string_equal(format_bytes(1024).s, "1.0 KiB");
    assert_string_equal(format_bytes(1288490189).s, "1.2 GiB");
    assert_string_equal(format_bytes(1023 * 1024).s, "1.0 MiB");
    assert_string_equal(format_bytes(UINT64_MAX).s, "16.0 EiB");
    assert_string_equal(format_bytes_short(512).s, "512");
    assert_string_equal(format_bytes_short(1023).s, "1.0K");
    assert_string_equal(format_bytes_short(10188).s, "9.9K");
    assert_string_equal(format_bytes_short(10200).s, "10K");
    assert_string_equal(format_bytes_short(63333990).s, "60M"); /* 60.4 */
    assert_string_equal(format_bytes_short(1288490189).s, "1.2G");
}

static void counts_are_formatted(void **state)
{
    (void)state;
    assert_string_equal(format_count(0).s, "0");
    assert_string_equal(format_count(999).s, "999");
    assert_string_equal(format_count(1998).s, "1,998");
    assert_string_equal(format_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
    assert_string_equal(format_milli(2000).s, "2");
    assert_string_equal(format_milli(3140).s, "3.1");
    assert_string_equal(format_milli(70).s, "0.07");
    assert_string_equal(format_milli(999).s, "1.00");
    assert_string_equal(format_tenths(2000).s, "2.0");
    assert_string_equal(format_tenths(14749).s, "14.7");
    assert_string_equal(format_tenths(14750).s, "14.8");
}

static void numbers_are_parsed_or_rejected(void **state)
{
    (void)state;
    uint64_t n = 7;
    assert_int_equal(parse_u64("18446744073709551615", &n), OK);
    assert_true(n == UINT64_MAX);
    n = 7;
    static const char *const bad[] = { "", " 1", "1 ", "-1", "+1", "1.0", "0x10", "18446744073709551616", "12a" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_u64(bad[i], &n), USAGE);
    assert_int_equal(n, 7);
}

static void bytes_are_parsed(void **state)
{
    (void)state;
    static const struct { const char *text; uint64_t bytes; } cases[] = {
        { "0", 0 }, { "4096", 4096 }, { "4k", 4096 }, { "512M", 512ull << 20 }, { "4G", 4ull << 30 }, { "1GiB", 1ull << 30 },
        { "2 TB", 2ull << 40 }, { "12b", 12 }, { "16383P", 16383ull << 50 },
    };
    uint64_t bytes = 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse_bytes(cases[i].text, &bytes), OK);
        assert_true(bytes == cases[i].bytes);
    }
    bytes = 7;
    static const char *const bad[] = { "", "G", "-1", "1.5G", "1x", "1iB", "1Gi", "1GiBs", "16384P", "1 G 1" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_bytes(bad[i], &bytes), USAGE);
    assert_int_equal(bytes, 7);
}

static void durations_are_parsed(void **state)
{
    (void)state;
    static const struct { const char *text; uint64_t ns; } cases[] = {
        { "1s", NS_PER_S },
        { "250ms", 250 * NS_PER_MS },
        { "250 ms", 250 * NS_PER_MS },
        { "1.5 h", 5400 * NS_PER_S },
        { "2h30m", 9000 * NS_PER_S },
        { "2 h 03 min", 7380 * NS_PER_S },
        { "0.000000001s", 1 },
        { "10", 10 * NS_PER_S },
        { "0.5", NS_PER_S / 2 },
        { "3 Days", 3 * 86400 * NS_PER_S },
        { "1 week", 604800 * NS_PER_S },
        { "7 µs", 7000 },
        { "0", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t ns = 1;
        assert_int_equal(parse_duration(cases[i].text, &ns), OK);
        assert_true(ns == cases[i].ns);
    }
}

static void invalid_durations_are_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = { "", " ", "abc", "s", "1x", "-1s", "1.s", ".5s", "1h2", "1 s ago", "1e3",
                                       "1,5s", "99999999999w", "18446744074s", "1s;", "1.5.2s" };
    uint64_t ns = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_duration(bad[i], &ns), USAGE);
    assert_int_equal(ns, 7);
}

#define NOW (1763200000ull * NS_PER_S) /* 2025-11-15 09:46:40 UTC */

static void times_are_parsed(void **state)
{
    (void)state;
    setenv("TZ", "UTC-1", 1); /* an hour before Greenwich, the whole year */
    static const struct { const char *text; uint64_t ns; } cases[] = {
        { "now", NOW },
        { "@1763200000", NOW },
        { "@1763200000.5", NOW + NS_PER_S / 2 },
        { "2 hours ago", NOW - 7200 * NS_PER_S },
        { "90 min", NOW - 5400 * NS_PER_S },
        { "3600", NOW - 3600 * NS_PER_S },
        { "2026s", NOW - 2026 * NS_PER_S },
        { "2h30m ago", NOW - 9000 * NS_PER_S },
        { "2025-11-15T09:46:40Z", NOW },
        { "2025-11-15 10:46:40", NOW },
        { "2025-11-15T10:46:40.25", NOW + NS_PER_S / 4 },
        { "2025-11-15T15:16:40+05:30", NOW },
        { "2025-11-15T04:46:40-0500", NOW },
        { "10:46:40", NOW },
        { "10:46", NOW - 40 * NS_PER_S },
        { "2025-11-15", NOW - 38800 * NS_PER_S },
        { "today", NOW - 38800 * NS_PER_S },
        { "yesterday", NOW - (38800 + 86400) * NS_PER_S },
        { "1970-01-02", 82800 * NS_PER_S },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t ns = 1;
        assert_int_equal(parse_time(cases[i].text, NOW, &ns), OK);
        assert_true(ns == cases[i].ns);
    }
}

static void invalid_times_are_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "tomorrow", "2025-13-01", "2025-02-30", "2025-1-1", "2025-11-15T", "25:00",
                                       "2025-11-15 10", "2025-11-15T10:00:00X", "@", "@-1", "@1.", "-3h", "100000 weeks ago",
                                       "2 hours hence", "2025-11-15T10:00+99:00", "1969-12-31", "@99999999999999999999",
                                       "2026", "1999 ", " 2026", "2026-11" };
    uint64_t ns = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_time(bad[i], NOW, &ns), USAGE);
    assert_int_equal(ns, 7);
}

static void times_are_formatted_in_local_time(void **state)
{
    (void)state;
    setenv("TZ", "UTC-1", 1);
    assert_string_equal(format_time(NOW).s, "2025-11-15 10:46:40");
    assert_string_equal(format_time_iso(NOW + 5).s, "2025-11-15T10:46:40.000000005+01:00");
    setenv("TZ", "EST+3:30", 1);
    tzset();
    assert_string_equal(format_time_iso(NOW + NS_PER_S - 1).s, "2025-11-15T06:16:40.999999999-03:30");
}

/* The first of 15, 16 and 17 digits that parses to the same value. */
static void assert_shortest(double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    assert_string_equal(format_f64(value).s, text);
}

static void fractions_are_as_short_as_possible(void **state)
{
    (void)state;
    const double some[] = { 0, -0.0, 1, 10, 1e5, 1e14, 1e15, 1e16, 0.1, 0.3, 1.0 / 3, 1e-4, 0.00010001, 9.9999e-5, 1e-9,
                            -1.5, 0.1 + 0.2, 123456789.123456, 1e9 + 1e-6, 999999999999999.0, 0.999999999999, 1e300 };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        assert_shortest(some[i]);
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        assert_shortest((double)(random >> (16 + i % 40)) / 1e6);
        assert_shortest((double)(random >> (16 + i % 40)) / 1e9);
        assert_shortest((double)(random >> 11) / (double)(1u << i % 31));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_formatted),
        cmocka_unit_test(bytes_are_formatted),
        cmocka_unit_test(bytes_are_parsed),
        cmocka_unit_test(counts_are_formatted),
        cmocka_unit_test(numbers_are_parsed_or_rejected),
        cmocka_unit_test(durations_are_parsed),
        cmocka_unit_test(invalid_durations_are_rejected),
        cmocka_unit_test(times_are_parsed),
        cmocka_unit_test(invalid_times_are_rejected),
        cmocka_unit_test(times_are_formatted_in_local_time),
        cmocka_unit_test(fractions_are_as_short_as_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
