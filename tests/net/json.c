/* The JSON writer. */
#include "net/json.h"

#include "tools/unit.h"

#include <math.h>

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

struct fixture {
    struct buf out;
    struct json json;
};

static struct fixture *begin(void)
{
    static struct fixture f;
    buf_init(&f.out, 100000);
    json_init(&f.json, &f.out);
    return &f;
}

static void end_equal(struct fixture *f, const char *expected)
{
    assert_int_equal(buf_err(&f->out), OK);
    assert_string_equal(buf_text(&f->out), expected);
    buf_clear(&f->out);
}

static void commas_and_line_breaks(void **state)
{
    (void)state;
    struct fixture *f = begin();
    json_begin_array(&f->json);
    json_begin_object(&f->json);
    json_field_u64(&f->json, "a", 1);
    json_key(&f->json, "b");
    json_begin_array(&f->json);
    json_end_array(&f->json);
    json_field_bool(&f->json, "c", true);
    json_end_object(&f->json);
    json_begin_object(&f->json);
    json_end_object(&f->json);
    json_i64(&f->json, -1);
    json_null(&f->json);
    json_end_array(&f->json);
    json_end(&f->json);
    end_equal(f, "[\n  {\"a\": 1, \"b\": [], \"c\": true},\n  {},\n  -1,\n  null\n]\n");
}

static void an_empty_array_is_one_line(void **state)
{
    (void)state;
    struct fixture *f = begin();
    json_begin_array(&f->json);
    json_end_array(&f->json);
    json_end(&f->json);
    end_equal(f, "[]\n");
}

static void all_control_characters_are_escaped(void **state)
{
    (void)state;
    struct fixture *f = begin();
    json_bytes(&f->json, BYTES("a\"b\\c\n\t\r\b\f\x01\x7f\0é\u2028😀"));
    end_equal(f, "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u007f\\u0000é\\u2028😀\"");
}

static void invalid_bytes_become_replacement_characters(void **state)
{
    (void)state;
    struct fixture *f = begin();
    json_bytes(&f->json, BYTES("caf\xe9\xc0\xaf!"));
    end_equal(f, "\"caf\uFFFD\uFFFD\uFFFD!\"");
}

static void a_field_keeps_bad_bytes_in_base64(void **state)
{
    (void)state;
    struct fixture *f = begin();
    json_begin_object(&f->json);
    json_field_bytes(&f->json, "good", BYTES("é"));
    json_field_bytes(&f->json, "path", BYTES("/x\xff"));
    json_field_strings(&f->json, "args", BYTES("a\0b\xff\0"));
    json_field_strings(&f->json, "none", BYTES(""));
    json_field_strings(&f->json, "empty", BYTES("\0x"));
    json_field_text(&f->json, "null", NULL);
    json_end_object(&f->json);
    end_equal(f, "{\n  \"good\": \"é\",\n  \"path\": \"/x\uFFFD\",\n  \"path_base64\": \"L3j/\",\n"
                 "  \"args\": [\"a\", \"b\uFFFD\"],\n  \"args_base64\": \"YQBi/wA=\",\n  \"none\": [],\n"
                 "  \"empty\": [\"\", \"x\"],\n  \"null\": null\n}");
}

static void base64_pads(void **state)
{
    (void)state;
    struct fixture *f = begin();
    json_begin_array(&f->json);
    json_base64(&f->json, BYTES(""));
    json_base64(&f->json, BYTES("f"));
    json_base64(&f->json, BYTES("fo"));
    json_base64(&f->json, BYTES("foo"));
    json_base64(&f->json, BYTES("foob"));
    json_end_array(&f->json);
    end_equal(f, "[\n  \"\",\n  \"Zg==\",\n  \"Zm8=\",\n  \"Zm9v\",\n  \"Zm9vYg==\"\n]");
}

static void numbers_parse_to_the_same_value(void **state)
{
    (void)state;
    struct fixture *f = begin();
    json_begin_array(&f->json);
    json_u64(&f->json, UINT64_MAX);
    json_i64(&f->json, INT64_MIN);
    json_f64(&f->json, 0.1);
    json_f64(&f->json, 1.0 / 3);
    json_f64(&f->json, 1e300);
    json_f64(&f->json, NAN);
    json_f64(&f->json, -INFINITY);
    json_end_array(&f->json);
    end_equal(f, "[\n  18446744073709551615,\n  -9223372036854775808,\n  0.1,\n  0.3333333333333333,\n  1e+300,\n"
                 "  null,\n  null\n]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_line_breaks),
        cmocka_unit_test(an_empty_array_is_one_line),
        cmocka_unit_test(all_control_characters_are_escaped),
        cmocka_unit_test(invalid_bytes_become_replacement_characters),
        cmocka_unit_test(a_field_keeps_bad_bytes_in_base64),
        cmocka_unit_test(base64_pads),
        cmocka_unit_test(numbers_parse_to_the_same_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
