/* Names in directories, also more than one system call returns. */
#include "proc/dirents.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <unistd.h>

#define MANY 1000 /* at least 32 bytes each: several system calls */

static void every_name_is_returned_once(void **state)
{
    (void)state;
    char directory[TEMP_PATH_MAX], path[TEMP_PATH_MAX], file[32];
    unsigned char seen[MANY] = { 0 };
    struct dirents entries;
    temp_dir(directory);
    for (int i = 0; i < MANY; i++) {
        snprintf(file, sizeof file, "name%d", i);
        temp_join(path, directory, file);
        temp_write(path, "", 0);
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), others = 0;
    assert_true(fd >= 0);
    dirents_begin(&entries, fd);
    for (const char *name; (name = dirents_next(&entries));)
        if (strncmp(name, "name", 4) == 0)
            seen[strtoul(name + 4, NULL, 10) % MANY]++;
        else
            others++;
    assert_int_equal(entries.err, OK);
    assert_int_equal(others, 2); /* . and .. */
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen[i], 1);
    close(fd);
    temp_remove(directory);
}

static void a_file_is_an_error(void **state)
{
    (void)state;
    struct dirents entries;
    dirents_begin(&entries, -1);
    assert_null(dirents_next(&entries));
    assert_int_equal(entries.err, IO);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dirents_begin(&entries, fd);
    assert_null(dirents_next(&entries));
    assert_int_equal(entries.err, ABSENT);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_returned_once),
        cmocka_unit_test(a_file_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
