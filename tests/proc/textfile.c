/* Files that are kept open: complete lines, growth, unreadable files. */
#include "proc/textfile.h"

#include "tools/temp.h"
#include "tools/unit.h"

static char root[TEMP_PATH_MAX];
static struct textfile file;

static int begin(void **state)
{
    (void)state;
    temp_dir(root);
    return 0;
}

static int end(void **state)
{
    (void)state;
    textfile_close(&file);
    temp_remove(root);
    return 0;
}

static void put(const char *text, size_t size)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, "f");
    temp_write(path, text, size);
}

static void a_truncated_line_is_dropped(void **state)
{
    (void)state;
    put("a 1\nb 2", 7);
    assert_int_equal(textfile_open(&file, root, "/f", TEXTFILE_WHOLE), OK);
    assert_string_equal(file.text, "a 1\n");
    assert_int_equal(file.size, 4);
    put("b", 1);
    assert_int_equal(textfile_read(&file), OK);
    assert_string_equal(file.text, "");
}

static void a_growing_file_is_read_completely(void **state)
{
    (void)state;
    static char text[300000];
    memset(text, 'x', sizeof text);
    for (size_t i = 99; i < sizeof text; i += 100)
        text[i] = '\n';
    for (enum textfile_mode mode = TEXTFILE_WHOLE; mode <= TEXTFILE_PAGES; mode++) {
        put(text, 100);
        assert_int_equal(textfile_open(&file, root, "/f", mode), OK);
        assert_int_equal(file.longest_line, 100);
        for (size_t size = 100; size < sizeof text; size *= 3) {
            put(text, size);
            assert_int_equal(textfile_read(&file), OK);
            assert_int_equal(file.size, size);
        }
        textfile_close(&file);
    }
}

static void an_endless_file_is_truncated(void **state)
{
    (void)state;
    size_t size = TEXTFILE_MAX + 1000;
    char *text = malloc(size);
    memset(text, '\n', size);
    put(text, size);
    free(text);
    assert_int_equal(textfile_open(&file, root, "/f", TEXTFILE_PAGES), OK);
    assert_int_equal(file.size, TEXTFILE_MAX - 1);
    assert_int_equal(textfile_read(&file), OK);
    assert_int_equal(file.size, TEXTFILE_MAX - 1);
}

static void an_unreadable_file_stays_closed(void **state)
{
    (void)state;
    assert_int_equal(textfile_open(&file, root, "/nothing", TEXTFILE_WHOLE), ABSENT);
    assert_false(file.is_open);
    assert_int_not_equal(textfile_open(&file, root, "/", TEXTFILE_WHOLE), OK); /* a directory */
    assert_false(file.is_open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_truncated_line_is_dropped, begin, end),
        cmocka_unit_test_setup_teardown(a_growing_file_is_read_completely, begin, end),
        cmocka_unit_test_setup_teardown(an_endless_file_is_truncated, begin, end),
        cmocka_unit_test_setup_teardown(an_unreadable_file_stays_closed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
