/* Reading JSON: each type, errors, and the output of json.c. */
#include "net/json_read.h"

#include "net/json.h"
#include "tools/unit.h"

static struct json_read reader(const char *text)
{
    struct json_read read;
    json_read_init(&read, text, strlen(text));
    return read;
}

static void objects_and_arrays_are_read(void **state)
{
    (void)state;
    struct json_read read = reader(" { \"a\" : [1, 2.5 ,[], {} ], \"b\":\"x\", \"c\": true,\"d\":null, \"e\":{\"f\":0}} ");
    struct buf key, text;
    uint64_t one;
    double two;
    bool flag;
    buf_init(&key, 64);
    buf_init(&text, 64);
    assert_true(json_read_object(&read));
    assert_true(json_read_key(&read, &key));
    assert_string_equal(buf_text(&key), "a");
    assert_int_equal(json_read_type(&read), JSON_ARRAY);
    assert_true(json_read_array(&read) && json_read_more(&read) && json_read_u64(&read, &one) && json_read_more(&read));
    assert_true(json_read_f64(&read, &two) && json_read_more(&read));
    json_read_skip(&read);
    assert_true(json_read_more(&read));
    json_read_skip(&read);
    assert_false(json_read_more(&read));
    assert_int_equal(one, 1);
    assert_true(two == 2.5);
    assert_true(json_read_key(&read, &key) && json_read_text(&read, &text));
    assert_string_equal(buf_text(&text), "x");
    assert_true(json_read_key(&read, &key) && json_read_bool(&read, &flag) && flag);
    assert_true(json_read_key(&read, &key) && json_read_null(&read));
    assert_true(json_read_key(&read, &key));
    json_read_skip(&read);
    assert_false(json_read_key(&read, &key));
    assert_true(json_read_end(&read));
    buf_clear(&key);
    buf_clear(&text);
}

static void check_text(const char *json, const char *expected)
{
    struct json_read read = reader(json);
    struct buf text;
    buf_init(&text, 4096);
    assert_int_equal(json_read_text(&read, &text) && json_read_end(&read), expected != NULL);
    if (expected)
        assert_string_equal(buf_text(&text), expected);
    buf_clear(&text);
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    check_text("\"\"", "");
    check_text("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t");
    check_text("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    check_text("\"\\u0000\"", NULL);
    check_text("\"\\ud83d\"", NULL);
    check_text("\"\\ude00\"", NULL);
    check_text("\"\\u12g4\"", NULL);
    check_text("\"\\u12", NULL);
    check_text("\"\\x41\"", NULL);
    check_text("\"a\nb\"", NULL);
    check_text("\"a", NULL);
    check_text("\"\\", NULL);
}

static void the_syntax_of_numbers_is_checked(void **state)
{
    (void)state;
    static const char *const good[] = { "0", "-0", "12", "-1.5e+10", "1E5", "0.25" };
    static const char *const bad[] = { "", "-", "01", "1.", ".5", "1e", "+1", "1e+", "0x1", "1-2", "nan" };
    double value;
    uint64_t whole;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct json_read read = reader(good[i]);
        assert_true(json_read_f64(&read, &value) && json_read_end(&read));
        assert_true(value == strtod(good[i], NULL));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct json_read read = reader(bad[i]);
        assert_false(json_read_f64(&read, &value) && json_read_end(&read));
    }
    struct json_read most = reader("18446744073709551615"), more = reader("18446744073709551616"), part = reader("1.0");
    assert_true(json_read_u64(&most, &whole) && whole == UINT64_MAX);
    assert_false(json_read_u64(&more, &whole));
    assert_false(json_read_u64(&part, &whole));
}

static void errors_are_detected(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "{", "[", "[1", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
        "[1]]", "[1}", "tru", "nul", "{\"a\":1 \"b\":2}", "[1 2]", "\"", "}" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct json_read read = reader(bad[i]);
        json_read_skip(&read);
        if (json_read_end(&read))
            fail_msg("'%s' was taken", bad[i]);
    }
    char deep[200];
    memset(deep, '[', sizeof deep);
    struct json_read read;
    json_read_init(&read, deep, sizeof deep);
    json_read_skip(&read);
    assert_true(read.failed);
}

static void output_of_the_writer_is_read(void **state)
{
    (void)state;
    struct buf out, key, text;
    struct json json;
    buf_init(&out, 4096);
    buf_init(&key, 64);
    buf_init(&text, 64);
    json_init(&json, &out);
    json_begin_object(&json);
    json_field_text(&json, "text", "a\"\x01\n\xc3\xa9");
    json_field_u64(&json, "number", UINT64_MAX);
    json_end_object(&json);
    json_end(&json);
    struct json_read read;
    uint64_t value;
    json_read_init(&read, out.data, out.size);
    assert_true(json_read_object(&read) && json_read_key(&read, &key) && json_read_text(&read, &text));
    assert_string_equal(buf_text(&text), "a\"\x01\n\xc3\xa9");
    assert_true(json_read_key(&read, &key) && json_read_u64(&read, &value));
    assert_int_equal(value, UINT64_MAX);
    assert_false(json_read_key(&read, &key));
    assert_true(json_read_end(&read));
    buf_clear(&out);
    buf_clear(&key);
    buf_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_are_read),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(the_syntax_of_numbers_is_checked),
        cmocka_unit_test(errors_are_detected),
        cmocka_unit_test(output_of_the_writer_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
