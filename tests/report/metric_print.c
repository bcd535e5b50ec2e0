/* Program metrics: parsed from an agent's response, selected by name, printed as Python does, logged to files that are
 * always valid. */
#include "report/metric_log.h"
#include "report/metric_names.h"
#include "compat/tau/python_text.h"

#include "net/json_read.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

static const struct terminal plain = { .utf8 = true, .width = 80 };

static void expect_float(double value, const char *text, const char *yaml)
{
    struct buf out;
    buf_init(&out, 100);
    python_text_float(&out, value);
    assert_string_equal(buf_text(&out), text);
    buf_reset(&out);
    python_text_yaml_float(&out, value);
    assert_string_equal(buf_text(&out), yaml);
    buf_clear(&out);
}

static void floats_as_python(void **state)
{
    (void)state;
    expect_float(0, "0.0", "0.0");
    expect_float(-0.0, "-0.0", "-0.0");
    expect_float(9, "9.0", "9.0");
    expect_float(0.1, "0.1", "0.1");
    expect_float(1667486717.483395, "1667486717.483395", "1667486717.483395");
    expect_float(1e15, "1000000000000000.0", "1000000000000000.0");
    expect_float(1e16, "1e+16", "1.0e+16");
    expect_float(12345678901234567890.0, "1.2345678901234567e+19", "1.2345678901234567e+19");
    expect_float(0.0001, "0.0001", "0.0001");
    expect_float(0.00001, "1e-05", "1.0e-05");
    expect_float(5e-324, "5e-324", "5.0e-324");
    expect_float(123456, "123456.0", "123456.0");
    expect_float(NAN, "nan", ".nan");
    expect_float(-INFINITY, "-inf", "-.inf");
}

static void expect_yaml(const char *text, const char *yaml)
{
    struct buf out;
    buf_init(&out, 10000);
    python_text_yaml(&out, text);
    assert_string_equal(buf_text(&out), yaml);
    buf_clear(&out);
}

static void yaml_strings_round_trip(void **state)
{
    (void)state;
    expect_yaml("", "\"\"");
    expect_yaml("a plain one", "a plain one");
    expect_yaml("x{a=\"b\"}", "x{a=\"b\"}");
    expect_yaml("no", "\"no\"");
    expect_yaml("Null", "\"Null\"");
    expect_yaml("0x1F", "\"0x1F\"");
    expect_yaml("1:30", "\"1:30\"");
    expect_yaml("2001-12-14", "\"2001-12-14\"");
    expect_yaml(".inf", "\".inf\"");
    expect_yaml("nobody", "nobody");
    expect_yaml("a: b", "\"a: b\"");
    expect_yaml("a:", "\"a:\"");
    expect_yaml("a #b", "\"a #b\"");
    expect_yaml("a#b:c", "a#b:c");
    expect_yaml("- x", "\"- x\"");
    expect_yaml("it's", "it's");
    expect_yaml("'it", "\"'it\"");
    expect_yaml(" x", "\" x\"");
    expect_yaml("x ", "\"x \"");
    expect_yaml("say \"a\\b\"\n", "\"say \\\"a\\\\b\\\"\\n\"");
    expect_yaml("a\nb\x01", "\"a\\nb\\u0001\"");
    expect_yaml("caf\xc3\xa9 \xff", "\"caf\\u00e9 \\ufffd\"");
    expect_yaml("\xf0\x9f\x98\x80", "\"\\U0001f600\"");
}

static void quotes_are_restored(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "a", "a" },
        { "a{b=c}", "a{b=\"c\"}" },
        { "a{b=\"c\"}", "a{b=\"c\"}" },
        { "a{b=c,d=\"e,}f\",g=h i}", "a{b=\"c\",d=\"e,}f\",g=\"h i\"}" },
        { "a{b=\"c", "a{b=\"c" },
        { "a{b=", "a{b=" },
        { "a{", "a{" },
        { "a{}", "a{}" },
    };
    struct buf out;
    buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        buf_reset(&out);
        metric_names_quote(&out, pairs[i][0]);
        assert_string_equal(buf_text(&out), pairs[i][1]);
    }
    const char *rest = ",a,b{c=\"d,\\\"}e\",f=g},h";
    assert_true(metric_names_next(&rest, &out));
    assert_string_equal(buf_text(&out), "a");
    assert_true(metric_names_next(&rest, &out));
    assert_string_equal(buf_text(&out), "b{c=\"d,\\\"}e\",f=g}");
    assert_true(metric_names_next(&rest, &out));
    assert_string_equal(buf_text(&out), "h");
    assert_false(metric_names_next(&rest, &out));
    buf_clear(&out);
}

static void names_match_metrics(void **state)
{
    (void)state;
    assert_true(metric_names_match("x", "x{a=\"b\"}"));
    assert_true(metric_names_match("x{a=\"b\"}", "x{a=\"b\"}"));
    assert_false(metric_names_match("x", "xy"));
    assert_false(metric_names_match("x{a=\"b\"}", "x{a=\"c\"}"));
    assert_true(metric_names_match("x*", "xy{a=\"[\"}"));
    assert_true(metric_names_match("*{scall=\"r??d\"}", "strace{scall=\"read\"}"));
    assert_false(metric_names_match("x?", "x"));
    struct buf out;
    buf_init(&out, 1000);
    metric_names_add_query(&out, "a{b=\"c d\"}");
    assert_string_equal(buf_text(&out), "name=a%7Bb%3D%22c%20d%22%7D");
    buf_clear(&out);
}

static const char answer[] =
    "{\"host\":\"n1\",\"metrics\":[{\"name\":\"x_total{a=\\\"b\\\"}\",\"type\":\"counter\",\"unit\":\"B\",\"doc\":\"an "
    "x\","
    "\"value\":1.5,\"ts\":1700000000.125,\"job\":null,\"user\":null},{\"name\":\"heat\",\"type\":\"gauge\",\"doc\":\"\","
    "\"value\":3,\"ts\":2,\"job\":\"4711\",\"user\":\"ada\",\"sum\":3,\"min\":1,\"max\":2,\"mean\":1.5,"
    "\"programs\":2,\"new\":{}},"
    "{\"name\":\"h\",\"type\":\"histogram\",\"value\":null}]}";

static void response_is_parsed(void **state)
{
    (void)state;
    struct metric_list list;
    metric_list_init(&list);
    assert_int_equal(metric_list_read(&list, answer, sizeof answer - 1), OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].unit, "B");
    assert_null(list.items[0].job);
    assert_string_equal(list.items[1].job, "4711");
    assert_true(list.items[1].spread[METRIC_LIST_MEAN] == 1.5);
    assert_true(isnan(list.items[2].value));
    struct buf out;
    buf_init(&out, 10000);
    metric_print(&out, &list, METRIC_VALUES, METRIC_JSON, &plain);
    assert_string_equal(buf_text(&out),
                        "[\n    {\n        \"name\": \"x_total{a=\\\"b\\\"}\",\n        \"ts\": 1700000000.125,\n"
                        "        \"value\": 1.5\n    },\n    {\n        \"name\": \"heat\",\n        \"ts\": 2.0,\n"
                        "        \"value\": 3.0\n    },\n    {\n        \"name\": \"h\",\n        \"ts\": null,\n"
                        "        \"value\": null\n    }\n]\n");
    buf_reset(&out);
    metric_print(&out, &list, METRIC_ALL, METRIC_TXT, &plain);
    assert_non_null(strstr(buf_text(&out), "heat  TAU_METRIC_GAUGE 2.0 3.0 job=4711 user=ada sum=3.0 min=1.0 "));
    buf_clear(&out);
    metric_list_clear(&list);
    for (size_t cut = 0; cut + 1 < sizeof answer - 1; cut += 7) {
        assert_int_equal(metric_list_read(&list, answer, cut), CORRUPT);
        metric_list_clear(&list);
    }
}

/* JSON has no number for infinity; the other formats print it as Python does. */
static void infinity_is_a_string(void **state)
{
    static const char metrics[] =
        "{\"metrics\":[{\"name\":\"g\",\"type\":\"gauge\",\"value\":\"-inf\",\"ts\":2,"
        "\"sum\":\"-inf\",\"min\":\"-inf\",\"max\":\"inf\","
        "\"mean\":null,\"programs\":1},{\"name\":\"h\",\"type\":\"histogram\",\"value\":\"odd\",\"ts\":2,"
        "\"buckets\":[[1,2],[\"inf\",3]]}]}";
    struct metric_list list;
    struct buf out;
    (void)state;
    buf_init(&out, 10000);
    metric_list_init(&list);
    assert_int_equal(metric_list_read(&list, metrics, sizeof metrics - 1), OK);
    metric_print(&out, &list, METRIC_ALL, METRIC_TXT, &plain);
    assert_string_equal(buf_text(&out), "# name doc type ts value\n"
                                        "g  TAU_METRIC_GAUGE 2.0 -inf sum=-inf min=-inf max=inf programs=1.0 \n"
                                        "h  TAU_METRIC_HISTOGRAM 2.0 nan p50=0.75 buckets=\"[[1.0, 2.0], [null, 3.0]]\" "
                                        "\n");
    buf_reset(&out);
    list.count = 1;
    metric_print(&out, &list, METRIC_VALUES, METRIC_YAML, &plain);
    assert_string_equal(buf_text(&out), "- name: g\n  ts: 2.0\n  value: -.inf\n\n");
    buf_reset(&out);
    metric_print_json(&out, &list.items[0], METRIC_VALUES);
    assert_string_equal(buf_text(&out), "{\"name\": \"g\", \"ts\": 2.0, \"value\": null}");
    buf_clear(&out);
    metric_list_clear(&list);
}

static void read_file(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, text, room - 1);
    assert_true(size >= 0);
    text[size] = '\0';
    close(fd);
}

static bool is_json(const char *text)
{
    struct json_read read;
    json_read_init(&read, text, strlen(text));
    json_read_skip(&read);
    return json_read_end(&read);
}

/* A reader between two samples finds a valid document, too. */
static void log_is_valid_after_every_sample(void **state)
{
    (void)state;
    static char text[100000];
    char folder[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct metric_list list;
    struct metric_log log;
    temp_dir(folder);
    temp_join(path, folder, "log.json");
    metric_list_init(&list);
    assert_int_equal(metric_list_read(&list, answer, sizeof answer - 1), OK);
    assert_int_equal(metric_log_open(&log, path, METRIC_JSON, METRIC_VALUES), OK);
    read_file(path, text, sizeof text);
    assert_string_equal(text, "[]\n");
    for (int i = 0; i < 3; i++) {
        list.count = i == 1 ? 0 : 1;
        assert_int_equal(metric_log_add(&log, &list), OK);
        read_file(path, text, sizeof text);
        assert_true(is_json(text));
    }
    assert_int_equal(metric_log_close(&log), OK);
    read_file(path, text, sizeof text);
    assert_string_equal(text, "[[{\"name\": \"x_total{a=\\\"b\\\"}\", \"ts\": 1700000000.125, \"value\": 1.5}],"
                              "[{\"name\": \"x_total{a=\\\"b\\\"}\", \"ts\": 1700000000.125, \"value\": 1.5}]]\n");
    metric_list_clear(&list);
    temp_remove(folder);
}

static void lines_in_files_are_not_padded(void **state)
{
    (void)state;
    static char text[100000];
    char folder[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct metric_list list;
    struct metric_log log;
    temp_dir(folder);
    temp_join(path, folder, "log.md");
    metric_list_init(&list);
    assert_int_equal(metric_list_read(&list, answer, sizeof answer - 1), OK);
    list.count = 1;
    assert_int_equal(metric_log_open(&log, path, METRIC_MD, METRIC_VALUES), OK);
    assert_int_equal(metric_log_add(&log, &list), OK);
    assert_int_equal(metric_log_close(&log), OK);
    read_file(path, text, sizeof text);
    assert_non_null(strstr(text, " x_total{a=\"b\"} = 1.5 @ 1700000000.125\n"));
    metric_list_clear(&list);
    temp_remove(folder);
}

static void full_disk_leaves_a_valid_file(void **state)
{
    (void)state;
    static char text[100000];
    char folder[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct metric_list list;
    struct metric_log log;
    struct rlimit before, small;
    temp_dir(folder);
    temp_join(path, folder, "log.json");
    metric_list_init(&list);
    assert_int_equal(metric_list_read(&list, answer, sizeof answer - 1), OK);
    assert_int_equal(metric_log_open(&log, path, METRIC_JSON, METRIC_VALUES), OK);
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){ 1000, before.rlim_max };
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    enum err err = OK;
    for (int i = 0; i < 100 && !err; i++)
        err = metric_log_add(&log, &list);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_not_equal(err, OK);
    assert_true(log.samples > 0);
    metric_log_close(&log);
    read_file(path, text, sizeof text);
    assert_true(strlen(text) < 1001 && is_json(text));
    metric_list_clear(&list);
    temp_remove(folder);
}

static void names_match_in_any_spelling(void **state)
{
    (void)state;
    static const char ordered[] = "x_total{a=\"1\",b=\"2\"}", wrapped[] = "a_b{program_name=\"a.b\"}";
    assert_true(metric_names_match("x_total", ordered));
    assert_true(metric_names_match(ordered, ordered));
    assert_true(metric_names_match("x_total{b=\"2\",a=\"1\"}", ordered));
    assert_true(metric_names_match("x_total{a=\"1\", b=\"2\"}", ordered));
    assert_true(metric_names_match("x_*a=\"1\"*", ordered));
    assert_false(metric_names_match("x_total{b=\"1\",a=\"2\"}", ordered));
    assert_false(metric_names_match("x_total{b=\"2\"}", ordered));
    assert_false(metric_names_match("x", ordered));
    assert_true(metric_names_match("a.b", wrapped));
    assert_true(metric_names_match("a_b", wrapped));
    assert_false(metric_names_match("a-b", wrapped));
    assert_false(metric_names_match("", wrapped));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_as_python),
        cmocka_unit_test(yaml_strings_round_trip),
        cmocka_unit_test(quotes_are_restored),
        cmocka_unit_test(names_match_metrics),
        cmocka_unit_test(names_match_in_any_spelling),
        cmocka_unit_test(response_is_parsed),
        cmocka_unit_test(infinity_is_a_string),
        cmocka_unit_test(log_is_valid_after_every_sample),
        cmocka_unit_test(lines_in_files_are_not_padded),
        cmocka_unit_test(full_disk_leaves_a_valid_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
