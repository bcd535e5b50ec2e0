/* Reading small files relative to a root. */
#include "base/file.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <unistd.h>

static char dir[TEMP_PATH_MAX];

static int make_files(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(path, dir, "proc/x");
    temp_write(path, "one\ntwo\n", 8);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void a_file_is_read_completely(void **state)
{
    (void)state;
    char text[64];
    size_t got;
    assert_int_equal(file_read(dir, "/proc/x", text, sizeof text, &got), OK);
    assert_int_equal(got, 8);
    assert_string_equal(text, "one\ntwo\n");
}

static void too_long_content_is_truncated_and_terminated(void **state)
{
    (void)state;
    char text[5] = "xxxx";
    size_t got;
    assert_int_equal(file_read(dir, "/proc/x", text, sizeof text, &got), OK);
    assert_string_equal(text, "one\n");
    assert_int_equal(got, 4);
}

static void a_line_is_read_without_its_newline(void **state)
{
    (void)state;
    char text[64];
    assert_int_equal(file_read_line(dir, "/proc/x", text, sizeof text), OK);
    assert_string_equal(text, "one");
}

static void a_missing_file_is_absent(void **state)
{
    (void)state;
    char text[8];
    int fd = 0;
    assert_int_equal(file_read(dir, "/proc/y", text, sizeof text, NULL), ABSENT);
    assert_int_equal(file_open(dir, "/proc/y", &fd), ABSENT);
    assert_int_equal(fd, -1);
}

static void an_open_file_is_read_again_from_the_start(void **state)
{
    (void)state;
    char text[16];
    int fd;
    assert_int_equal(file_open(dir, "/proc/x", &fd), OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(file_read_fd(fd, text, sizeof text, NULL), OK);
        assert_string_equal(text, "one\ntwo\n");
    }
    close(fd);
}

static void no_root_is_this_node(void **state)
{
    (void)state;
    char path[FILE_PATH_MAX];
    assert_int_equal(file_path(path, NULL, "/proc/x"), OK);
    assert_string_equal(path, "/proc/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_completely),
        cmocka_unit_test(too_long_content_is_truncated_and_terminated),
        cmocka_unit_test(a_line_is_read_without_its_newline),
        cmocka_unit_test(a_missing_file_is_absent),
        cmocka_unit_test(an_open_file_is_read_again_from_the_start),
        cmocka_unit_test(no_root_is_this_node),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
