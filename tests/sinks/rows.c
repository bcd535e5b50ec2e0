/* Rows with named columns. */
#include "sinks/rows.h"

#include "tools/unit.h"

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static const char *const names[] = { "name", "size", "args" };

/* All in the buffer: nothing is passed on before 64 KiB. */
static const char *made(enum rows_format format)
{
    static char text[1000];
    struct stream stream;
    struct rows rows;
    stream_open(&stream, "/dev/null");
    rows_begin(&rows, &stream, format, names, 3);
    rows_text(&rows, BYTES("a,b"));
    rows_u64(&rows, 7);
    rows_words(&rows, BYTES("x\0y z\0"));
    rows_absent(&rows);
    rows_absent(&rows);
    rows_absent(&rows);
    rows_text(&rows, BYTES("\xff"));
    rows_absent(&rows);
    rows_words(&rows, BYTES(""));
    assert_int_equal(rows_pass(&rows), OK);
    strcpy(text, buf_text(&stream.out));
    assert_int_equal(rows_end(&rows), OK);
    stream_close(&stream);
    return text;
}

static void csv_has_titles_and_empty_fields(void **state)
{
    (void)state;
    assert_string_equal(made(ROWS_CSV), "name,size,args\r\n\"a,b\",7,x 'y z'\r\n,,\r\n\\xff,,\r\n");
}

static void json_is_an_array_of_objects(void **state)
{
    (void)state;
    assert_string_equal(made(ROWS_JSON), "[\n  {\"name\": \"a,b\", \"size\": 7, \"args\": [\"x\", \"y z\"]},\n  {},\n"
                                         "  {\"name\": \"\uFFFD\", \"name_base64\": \"/w==\", \"args\": []}");
}

static void json_lines_are_objects(void **state)
{
    (void)state;
    assert_string_equal(made(ROWS_JSONL), "{\"name\": \"a,b\", \"size\": 7, \"args\": [\"x\", \"y z\"]}\n{}\n"
                                          "{\"name\": \"\uFFFD\", \"name_base64\": \"/w==\", \"args\": []}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_titles_and_empty_fields),
        cmocka_unit_test(json_is_an_array_of_objects),
        cmocka_unit_test(json_lines_are_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
