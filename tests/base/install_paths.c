/* Paths are relative to the executable: the test copies itself into directory trees and runs the copy. */
#include "base/install_paths.h"

#include "base/code_pages.h"
#include "spool/probe_env.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX];

static int make_dir(void **state)
{
    (void)state;
    temp_dir(dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void put_file(const char *name)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, dir, name);
    temp_write(path, "x", 1);
}

/* Output of the copy at dir/name; with the argument "path" that is its own path. */
static void ask_copy(const char *name, const char *question, char answer[PATH_MAX])
{
    char command[4 * PATH_MAX], own[PATH_MAX];
    assert_int_equal(install_paths_executable(own, sizeof own), OK);
    snprintf(command, sizeof command, "mkdir -p %s/bin %s/moved/bin && cp %s %s/%s && %s/%s %s", dir, dir, own, dir, name,
             dir, name, question);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    size_t size = fread(answer, 1, PATH_MAX - 1, out);
    answer[size] = '\0';
    assert_int_equal(pclose(out), 0);
}

static void expect(const char *answer, const char *name)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, dir, name);
    assert_string_equal(answer, path);
}

static void the_executable_is_found(void **state)
{
    (void)state;
    char answer[PATH_MAX];
    ask_copy("bin/copy", "path", answer);
    expect(answer, "bin/copy");
}

static void a_missing_probe_is_absent(void **state)
{
    (void)state;
    char answer[PATH_MAX];
    ask_copy("bin/copy", "probe", answer);
    assert_string_equal(answer, "not found");
}

static void the_build_tree_is_searched_last(void **state)
{
    (void)state;
    char answer[PATH_MAX];
    put_file("probe/libsonde-process.so");
    ask_copy("bin/copy", "probe", answer);
    expect(answer, "probe/libsonde-process.so");
    put_file("lib/sonde/libsonde-process.so");
    ask_copy("bin/copy", "probe", answer);
    expect(answer, "lib/sonde/libsonde-process.so");
}

static void the_directory_of_the_executable_is_searched_first(void **state)
{
    (void)state;
    char answer[PATH_MAX];
    put_file("lib/sonde/libsonde-process.so");
    put_file("bin/libsonde-process.so");
    ask_copy("bin/copy", "probe", answer);
    expect(answer, "bin/libsonde-process.so");
}

static void a_moved_tree_works(void **state)
{
    (void)state;
    char answer[PATH_MAX];
    char to[TEMP_PATH_MAX], from[TEMP_PATH_MAX];
    put_file("first/lib/sonde/libsonde-process.so");
    temp_join(from, dir, "first");
    temp_join(to, dir, "moved");
    assert_int_equal(rename(from, to), 0);
    ask_copy("moved/bin/copy", "probe", answer);
    expect(answer, "moved/lib/sonde/libsonde-process.so");
}

static void a_path_that_is_too_long_is_rejected(void **state)
{
    (void)state;
    char small[4];
    assert_int_equal(install_paths_executable(small, sizeof small), FULL);
}

static int answer(const char *question)
{
    char path[PATH_MAX];
    enum err err = strcmp(question, "path") == 0 ? install_paths_executable(path, sizeof path)
                                                 : install_paths_find(PROBE_LIBRARY, path, sizeof path);
    printf("%s", err ? err_text(err) : path);
    return 0;
}

static long resident_pages(void)
{
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(got > 0);
    return strtol(strchr(text, ' '), NULL, 10);
}

static long written = 1; /* in a page that can be written, which must be as it was left */

static void released_code_is_mapped_again(void **state)
{
    (void)state;
    resident_pages();
    written = 2;
    long before = resident_pages();
    code_pages_release();
    long after = resident_pages();
    assert_int_equal(written, 2);
    assert_true(after < before);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return answer(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_executable_is_found, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_missing_probe_is_absent, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_build_tree_is_searched_last, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_directory_of_the_executable_is_searched_first, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_moved_tree_works, make_dir, remove_dir),
        cmocka_unit_test(released_code_is_mapped_again),
        cmocka_unit_test(a_path_that_is_too_long_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
