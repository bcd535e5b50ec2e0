/* Numbers in sentences: singular and plural, small and large, NAN. */
#include "analysis/phrase.h"

#include "tools/unit.h"

#include <math.h>
#include <signal.h>

static void counts(void **state)
{
    (void)state;
    assert_string_equal(phrase_plural(0, "process", "processes").s, "0 processes");
    assert_string_equal(phrase_plural(1, "process", "processes").s, "1 process");
    assert_string_equal(phrase_plural(4210, "process", "processes").s, "4,210 processes");
    assert_string_equal(phrase_count(1234567.5).s, "1,234,568");
    assert_int_equal(phrase_round(NAN), 0);
    assert_int_equal(phrase_round(-1), 0);
    assert_true(phrase_round(1e30) == UINT64_MAX);
    assert_true(phrase_round((double)UINT64_MAX) == UINT64_MAX);
}

static void shares(void **state)
{
    (void)state;
    assert_string_equal(phrase_percent(0).s, "0 %");
    assert_string_equal(phrase_percent(0.004).s, "under 1 %");
    assert_string_equal(phrase_percent(0.524).s, "52 %");
    assert_string_equal(phrase_percent(0.996).s, "over 99 %");
    assert_string_equal(phrase_percent(1).s, "100 %");
    assert_string_equal(phrase_fraction(0.524).s, "Half (52 %)");
    assert_string_equal(phrase_fraction(0.34).s, "A third (34 %)");
    assert_string_equal(phrase_fraction(0.42).s, "42 %");
    assert_string_equal(phrase_fraction(0.76).s, "Three quarters (76 %)");
    assert_string_equal(phrase_fraction(0.999).s, "Nearly all (over 99 %)");
    assert_string_equal(phrase_fraction(0.001).s, "Under 1 %");
}

static void cores(void **state)
{
    (void)state;
    assert_string_equal(phrase_cores(0).s, "0.00");
    assert_string_equal(phrase_cores(0.001).s, "under 0.01");
    assert_string_equal(phrase_cores(0.05).s, "0.05");
    assert_string_equal(phrase_cores(0.4).s, "0.4");
    assert_string_equal(phrase_cores(3.14).s, "3.1");
    assert_string_equal(phrase_cores(15.97).s, "16");
    assert_string_equal(phrase_cores(16).s, "16");
}

static void times(void **state)
{
    (void)state;
    assert_string_equal(phrase_offset(7.4).s, "0:07");
    assert_string_equal(phrase_offset(750).s, "12:30");
    assert_string_equal(phrase_offset(10805).s, "3:00:05");
    assert_string_equal(phrase_interval(0.01).s, "10ms");
    assert_string_equal(phrase_interval(2).s, "2s");
    assert_string_equal(phrase_duration(-1).s, "0 s");
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(phrase_name(bytes_of("cc1")).s, "cc1");
    assert_string_equal(phrase_name(bytes_of("")).s, "?");
    assert_string_equal(phrase_name(bytes_of("a\nb")).s, "a\\nb");
    assert_string_equal(phrase_name(bytes_of("a-name-that-is-longer-than-any-sentence")).s, "a-name-that-is-longer-t…");
    /* Combining characters do not fill the buffer. */
    char marks[400];
    for (size_t i = 0; i < sizeof marks - 1; i += 2)
        memcpy(marks + i, "\xcc\x81", 2);
    marks[398] = '\0';
    assert_true(strlen(phrase_name(bytes_of(marks)).s) < sizeof(struct format_text));
}

static void signals(void **state)
{
    (void)state;
    assert_string_equal(phrase_signal(SIGSEGV).s, "SIGSEGV (segmentation fault)");
    assert_string_equal(phrase_signal(SIGRTMIN + 3).s, "signal 37");
    assert_string_equal(phrase_signal(0).s, "signal 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts), cmocka_unit_test(shares), cmocka_unit_test(cores),
        cmocka_unit_test(times),  cmocka_unit_test(names),  cmocka_unit_test(signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
