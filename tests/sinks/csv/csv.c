/* The sinks csv and json. */
#include "sinks/csv/csv.h"

#include "sinks/sink.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static void field(struct bytes text, const char *expected)
{
    struct buf out;
    buf_init(&out, 1000);
    csv_add_text(&out, text);
    assert_string_equal(buf_text(&out), expected);
    buf_clear(&out);
}

static void fields_are_quoted_as_in_rfc_4180(void **state)
{
    (void)state;
    field(BYTES("plain"), "plain");
    field(BYTES(""), "");
    field(BYTES("a,b"), "\"a,b\"");
    field(BYTES("say \"hi\""), "\"say \"\"hi\"\"\"");
    field(BYTES("two\nlines"), "\"two\nlines\"");
    field(BYTES("caf\xc3\xa9"), "caf\xc3\xa9");
    field(BYTES("caf\xe9\0!"), "caf\\xe9\\x00!");
    field(BYTES(" x"), "\" x\"");
}

static const struct metric metrics[] = {
    { "cpu", "us", COUNTER, U64, "" }, { "load", "1", GAUGE, F64, "" }, { "change", "1", GAUGE, I64, "" },
};
static const struct set job_set = { "job", metrics, 3 }, node_set = { "node", metrics, 1 };

static void fill(struct batch *batch)
{
    batch_init(batch);
    batch->host = "node,1";
    struct sample *sample = batch_add(batch, &job_set, 1000, "");
    sample->job = "77";
    sample_set_u64(sample, 0, UINT64_MAX);
    sample_set_f64(sample, 1, 0.1);
    sample_set_u64(sample, 2, (uint64_t)-5);
    sample = batch_add(batch, &job_set, 2000, "");
    sample->job = "77";
    sample_set_f64(sample, 1, NAN);
    sample = batch_add(batch, &node_set, 3000, "eth0");
    sample_set_u64(sample, 0, 7);
}

/* The file written by the sink. */
static const char *written(const struct sink *sink, const char *key, const char *value)
{
    static char text[4096];
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct batch batch;
    temp_dir(dir);
    temp_join(path, dir, "out");
    void *state = calloc(1, sink->state_size);
    assert_int_equal(setting_defaults(sink->settings, state), OK);
    assert_int_equal(setting_apply(sink->settings, state, "path", path), OK);
    if (key)
        assert_int_equal(setting_apply(sink->settings, state, key, value), OK);
    assert_int_equal(sink->open(state), OK);
    fill(&batch);
    assert_int_equal(sink->write(state, &batch), OK);
    assert_int_equal(sink->flush(state, 0), OK);
    sink->close(state);
    free(state);
    batch_clear(&batch);
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, text, sizeof text - 1);
    assert_true(size >= 0);
    text[size] = '\0';
    close(fd);
    temp_remove(dir);
    return text;
}

static void number(double value, const char *expected)
{
    struct buf out;
    buf_init(&out, 100);
    csv_add_value(&out, F64, (union value){ .f64 = value });
    assert_string_equal(buf_text(&out), expected);
    buf_clear(&out);
}

static void infinity_is_written_and_nan_is_empty(void **state)
{
    (void)state;
    number(-2.5, "-2.5");
    number(INFINITY, "inf");
    number(-INFINITY, "-inf");
    number(NAN, "");
}

static void one_row_per_known_value(void **state)
{
    (void)state;
    assert_string_equal(written(sink_find("csv"), NULL, NULL),
                        "time_ns,host,job,set,instance,metric,unit,value\r\n"
                        "1000,\"node,1\",77,job,,cpu,us,18446744073709551615\r\n"
                        "1000,\"node,1\",77,job,,load,1,0.1\r\n"
                        "1000,\"node,1\",77,job,,change,1,-5\r\n"
                        "2000,\"node,1\",77,job,,load,1,\r\n"
                        "3000,\"node,1\",,node,eth0,cpu,us,7\r\n");
}

static void one_row_per_sample_of_a_set(void **state)
{
    (void)state;
    assert_string_equal(written(sink_find("csv"), "set", "job"), "time_ns,host,job,instance,cpu,load,change\r\n"
                                                                 "1000,\"node,1\",77,,18446744073709551615,0.1,-5\r\n"
                                                                 "2000,\"node,1\",77,,,,\r\n");
}

static void json_omits_missing_values(void **state)
{
    (void)state;
    assert_string_equal(
        written(sink_find("json"), NULL, NULL),
        "[\n  {\"time_ns\": 1000, \"host\": \"node,1\", \"job\": \"77\", \"set\": \"job\", \"instance\": \"\", "
        "\"values\": {\"cpu\": 18446744073709551615, \"load\": 0.1, \"change\": -5}},\n"
        "  {\"time_ns\": 2000, \"host\": \"node,1\", \"job\": \"77\", \"set\": \"job\", \"instance\": \"\", "
        "\"values\": {\"load\": null}},\n"
        "  {\"time_ns\": 3000, \"host\": \"node,1\", \"set\": \"node\", \"instance\": \"eth0\", \"values\": {\"cpu\": 7}}\n]\n");
}

static void json_lines_have_no_array(void **state)
{
    (void)state;
    const char *text = written(sink_find("json"), "lines", "yes");
    assert_memory_equal(text, "{\"time_ns\": 1000", 16);
    assert_non_null(strstr(text, "}}\n{\"time_ns\": 2000"));
    assert_string_equal(text + strlen(text) - 3, "}}\n");
}

static void *open_to_add(const struct sink *sink, const char *path)
{
    void *state = calloc(1, sink->state_size);
    assert_int_equal(setting_defaults(sink->settings, state), OK);
    assert_int_equal(setting_apply(sink->settings, state, "path", path), OK);
    assert_int_equal(setting_apply(sink->settings, state, "append", "yes"), OK);
    assert_int_equal(sink->open(state), OK);
    return state;
}

/* As at SIGHUP: the old state is flushed and closed after the new one was opened. */
static void a_reopened_file_has_one_header(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX], text[4096] = "";
    struct batch batch;
    temp_dir(dir);
    temp_join(path, dir, "out");
    fill(&batch);
    const struct sink *sink = sink_find("csv");
    void *before = open_to_add(sink, path), *after = open_to_add(sink, path);
    assert_int_equal(sink->flush(before, 0), OK);
    sink->close(before);
    assert_int_equal(sink->write(after, &batch), OK);
    assert_int_equal(sink->flush(after, 0), OK);
    sink->close(after);
    int fd = open(path, O_RDONLY);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_memory_equal(text, "time_ns,", 8);
    assert_null(strstr(text + 8, "time_ns,"));
    free(before);
    free(after);
    batch_clear(&batch);
    temp_remove(dir);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    static const char *const names[] = { "csv", "json" };
    for (size_t i = 0; i < 2; i++) {
        const struct sink *sink = sink_find(names[i]);
        void *s = calloc(1, sink->state_size);
        setting_defaults(sink->settings, s);
        setting_apply(sink->settings, s, "path", "/dev/full");
        struct batch batch;
        fill(&batch);
        assert_int_equal(sink->open(s), OK);
        assert_int_equal(sink->write(s, &batch), OK);
        assert_int_equal(sink->flush(s, 0), FULL);
        sink->close(s);
        batch_clear(&batch);
        free(s);
    }
}

static void an_invalid_path_is_an_error(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("csv");
    void *s = calloc(1, sink->state_size);
    setting_apply(sink->settings, s, "path", "/no/such/folder/file");
    assert_int_equal(sink->open(s), ABSENT);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_quoted_as_in_rfc_4180),
        cmocka_unit_test(infinity_is_written_and_nan_is_empty),
        cmocka_unit_test(one_row_per_known_value),
        cmocka_unit_test(one_row_per_sample_of_a_set),
        cmocka_unit_test(json_omits_missing_values),
        cmocka_unit_test(json_lines_have_no_array),
        cmocka_unit_test(a_reopened_file_has_one_header),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(an_invalid_path_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
