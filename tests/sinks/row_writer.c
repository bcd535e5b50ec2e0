/* Rows with named columns. */
#include "sinks/row_writer.h"

#include "tools/unit.h"

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static const char *const names[] = { "name", "size", "args" };

/* The output in the buffer: nothing is written before 64 KiB. */
static const char *made(enum row_writer_format format)
{
    static char text[1000];
    struct output stream;
    struct row_writer rows;
    output_open(&stream, "/dev/null");
    row_writer_begin(&rows, &stream, format, names, 3);
    row_writer_string(&rows, BYTES("a,b"));
    row_writer_u64(&rows, 7);
    row_writer_arguments(&rows, BYTES("x\0y z\0"));
    row_writer_missing(&rows);
    row_writer_missing(&rows);
    row_writer_missing(&rows);
    row_writer_string(&rows, BYTES("\xff"));
    row_writer_missing(&rows);
    row_writer_arguments(&rows, BYTES(""));
    assert_int_equal(row_writer_write_if_large(&rows), OK);
    strcpy(text, buf_text(&stream.out));
    assert_int_equal(row_writer_end(&rows), OK);
    output_close(&stream);
    return text;
}

static void csv_has_a_header_and_empty_fields(void **state)
{
    (void)state;
    assert_string_equal(made(ROW_WRITER_CSV), "name,size,args\r\n\"a,b\",7,x 'y z'\r\n,,\r\n\\xff,,\r\n");
}

static void json_is_an_array_of_objects(void **state)
{
    (void)state;
    assert_string_equal(made(ROW_WRITER_JSON), "[\n  {\"name\": \"a,b\", \"size\": 7, \"args\": [\"x\", \"y z\"]},\n  {},\n"
                                         "  {\"name\": \"\uFFFD\", \"name_base64\": \"/w==\", \"args\": []}");
}

static void json_lines_are_objects(void **state)
{
    (void)state;
    assert_string_equal(made(ROW_WRITER_JSONL), "{\"name\": \"a,b\", \"size\": 7, \"args\": [\"x\", \"y z\"]}\n{}\n"
                                          "{\"name\": \"\uFFFD\", \"name_base64\": \"/w==\", \"args\": []}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_a_header_and_empty_fields),
        cmocka_unit_test(json_is_an_array_of_objects),
        cmocka_unit_test(json_lines_are_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
