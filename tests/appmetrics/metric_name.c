/* Names of programs' metrics: one form for all spellings, and none that breaks a page. */
#include "appmetrics/metric_name.h"

#include "tools/unit.h"

static const char *text_of(const char *raw)
{
    static char text[METRIC_NAME_MAX * 2];
    struct metric_name name;
    metric_name_init(&name);
    assert_int_equal(metric_name_parse(&name, bytes_of(raw)), OK);
    snprintf(text, sizeof text, "%s", buf_text(&name.text));
    metric_name_clear(&name);
    return text;
}

static const char *page_of(const char *raw)
{
    static char text[METRIC_NAME_MAX * 2];
    struct metric_name name;
    metric_name_init(&name);
    assert_int_equal(metric_name_parse(&name, bytes_of(raw)), OK);
    snprintf(text, sizeof text, "%s", buf_text(&name.page));
    metric_name_clear(&name);
    return text;
}

static void valid_names_are_unchanged(void **state)
{
    (void)state;
    assert_string_equal(text_of("x_total"), "x_total");
    assert_string_equal(text_of("a:b{c=\"d\"}"), "a:b{c=\"d\"}");
    assert_string_equal(text_of("x{a=\"q\\\"\\\\\\n\"}"), "x{a=\"q\\\"\\\\\\n\"}");
    assert_string_equal(page_of("x"), "x{");
    assert_string_equal(page_of("x{a=\"b\"}"), "x{a=\"b\",");
}

static void spellings_of_a_series_become_one(void **state)
{
    (void)state;
    assert_string_equal(text_of("x{b=\"2\",a=\"1\"}"), "x{a=\"1\",b=\"2\"}");
    assert_string_equal(text_of("x{b=2, a=1,}"), "x{a=\"1\",b=\"2\"}");
    assert_string_equal(text_of("x{}"), "x");
}

static void invalid_names_are_wrapped(void **state)
{
    (void)state;
    assert_string_equal(text_of("evil\nevil_total 666"), "evil_evil_total_666{program_name=\"evil\\nevil_total 666\"}");
    assert_string_equal(text_of("x{a=\"b"), "x{program_name=\"x{a=\\\"b\"}");
    assert_string_equal(text_of("x{a=\"1\",a=\"2\"}"), "x{program_name=\"x{a=\\\"1\\\",a=\\\"2\\\"}\"}");
    assert_string_equal(text_of("9{"), "_{program_name=\"9{\"}");
    assert_string_equal(text_of("{"), "unnamed{program_name=\"{\"}");
    assert_string_equal(text_of("\xff"), "_{program_name=\"\xef\xbf\xbd\"}");
    assert_string_equal(text_of("x{a=\"b\"} 5\nfake 7"), "x{program_name=\"x{a=\\\"b\\\"} 5\\nfake 7\"}");
}

static void reserved_labels_and_names_are_renamed(void **state)
{
    (void)state;
    assert_string_equal(page_of("x{job=\"1\",le=\"2\"}"), "x{program_job=\"1\",program_le=\"2\",");
    assert_string_equal(text_of("x{job=\"1\"}"), "x{job=\"1\"}");
    assert_string_equal(page_of("sonde_load"), "program_sonde_load{");
    assert_string_equal(page_of("x{job=\"1\",program_job=\"2\"}"),
                        "x{program_name=\"x{job=\\\"1\\\",program_job=\\\"2\\\"}\",");
}

/* Prometheus refuses a whole page for the first, and takes the second for the series without labels. */
static void labels_reserved_by_prometheus_are_renamed(void **state)
{
    (void)state;
    assert_string_equal(page_of("x{__name__=\"y\"}"), "x{program___name__=\"y\",");
    assert_string_equal(text_of("x{__name__=\"y\"}"), "x{__name__=\"y\"}");
    assert_string_equal(page_of("x{a=\"\"}"), "x{");
    assert_string_equal(page_of("x{a=\"\",b=\"1\",c=\"\"}"), "x{b=\"1\",");
    assert_string_equal(text_of("x{a=\"\"}"), "x{a=\"\"}");
}

static void empty_and_too_long_names_are_refused(void **state)
{
    static char text[METRIC_NAME_MAX + 1];
    struct metric_name name;
    (void)state;
    metric_name_init(&name);
    memset(text, 'a', sizeof text);
    assert_int_equal(metric_name_parse(&name, (struct bytes){ text, 0 }), USAGE);
    assert_int_equal(metric_name_parse(&name, (struct bytes){ text, sizeof text }), FULL);
    assert_int_equal(metric_name_parse(&name, (struct bytes){ text, 10240 }), OK);
    assert_int_equal(name.text.size, 10240);
    memset(text, '\n', sizeof text);
    assert_int_equal(metric_name_parse(&name, (struct bytes){ text, METRIC_NAME_MAX }), OK);
    metric_name_clear(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_names_are_unchanged), cmocka_unit_test(spellings_of_a_series_become_one),
        cmocka_unit_test(invalid_names_are_wrapped), cmocka_unit_test(reserved_labels_and_names_are_renamed),
        cmocka_unit_test(labels_reserved_by_prometheus_are_renamed),
        cmocka_unit_test(empty_and_too_long_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
